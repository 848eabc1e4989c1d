(* The oracle: what every cache entry and logit of a model depends on, by running the model of
   Model.v, along a schedule of chunks, on dependency sets in place of numbers.

   A leaf is the embedding of a token: (base, j) in the base stream, (output, t) in the output copy
   at t. Every operation unites what its operands depend on. So the sets describe the execution: a
   softmax over one visible key is the constant 1, but its computation still reads the query. *)
From Coq Require Import List Arith Bool.
From Orthros Require Import Lists Model Layers FullWindow DepSets.
Import ListNotations.

(* What a layer is: windowed attention, full attention, or a recurrent mixer behind a causal
   convolution of so many taps (1: no convolution). Taps and windows count the own position. *)
Inductive Kind := Windowed (w : nat) | Full | Linear (taps : nat).

(* A cache entry. For attention: what the key and value depend on. For a recurrent layer: what the
   state after the position depends on, and the last inputs, which the convolution reads. *)
Record Memory := { depends : Deps; recent : list Deps }.

(* Attention reads its query and every visible entry; the residual adds the row itself. *)
Definition tracing_attention (w : nat) : Attention Deps Memory Deps Deps := {|
  window := w;
  key_value := fun _ x => {| depends := x; recent := [] |};
  query := fun _ x => x;
  query_output := fun _ x => x;
  attend := fun q seen => both q (all_of (map depends seen));
  finish := both
|}.

(* A recurrent update reads the inputs under the convolution's taps and the state before. The base
   stream's query goes through the convolution too; an output copy's bypasses it and reads the state
   after its token's update. *)
Definition tracing_recurrent (taps : nat) : Recurrent Deps Memory Deps := {|
  initial := {| depends := nothing; recent := [] |};
  update := fun s x =>
    let inputs := last_n (Nat.max 1 taps) (recent s ++ [x]) in
    {| depends := both (all_of inputs) (depends s); recent := inputs |};
  read_base := fun s _ => both (all_of (recent s)) (depends s);
  read_output := fun s x => both x (depends s);
  finish_row := both
|}.

Definition tracing_layer (k : Kind) : Layer Deps Memory :=
  match k with
  | Windowed w => attention_layer (tracing_attention w)
  | Full => full_layer (tracing_attention 0)
  | Linear taps => recurrent_layer (tracing_recurrent taps)
  end.

(* Token j is the number j itself. *)
Definition tracing_model (kinds : list Kind) : Model nat Deps Memory Deps := {|
  embed := fun j => {| on_base := [j]; on_output := [] |};
  embed_copy := fun t => {| on_base := []; on_output := [t] |};
  layers := map tracing_layer kinds;
  head := fun x => x
|}.

(* Logits of a single-stream model: its base rows at the positions asked for; n tokens stand before
   the chunk whose rows these are. *)
Definition base_logits (n : nat) (rows : list Deps) (outs : list nat) : list (nat * Deps) :=
  flat_map (fun t => match lookup rows (t - n) with Some x => [(t, x)] | None => [] end) outs.

(* The schedule: chunk after chunk, each with the outputs asked for that fall within it. dual says
   whether logits come from output copies (Orthros) or from the base stream (Transformer, SWA). *)
Fixpoint trace (dual : bool) (kinds : list Kind) (s : Sequence nat Memory)
    (chunks outs : list nat) : Sequence nat Memory * list (nat * Deps) :=
  match chunks with
  | [] => (s, [])
  | m :: rest =>
      let n := length (tokens s) in
      let asked := filter (fun t => (n <? t) && (t <=? n + m)) outs in
      let f := forward (tracing_model kinds) s (seq (S n) m) (if dual then asked else []) in
      let r := trace dual kinds (after f) rest outs in
      (fst r, (if dual then logits f else base_logits n (hidden f) asked) ++ snd r)
  end.

(* The oracle: the memories of every layer and position, and the set of every logit asked for. *)
Definition oracle (dual : bool) (kinds : list Kind) (chunks outs : list nat) :
    list (list Memory) * list (nat * Deps) :=
  let r := trace dual kinds (start (tracing_model kinds)) chunks outs in
  (caches (fst r), snd r).

(* What a recurrent layer's convolution state depends on: the inputs that later taps still reach. *)
Definition conv_deps (taps : nat) (m : Memory) : Deps := all_of (last_n (taps - 1) (recent m)).
