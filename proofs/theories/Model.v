(* The model: two streams through a list of layers, and the one function forward that is all modes.

   Nothing here is arithmetic. X is the type of a hidden row, E of a cache entry, and a layer is any
   three functions of those types; the paper's attention layers and the recurrent layers of hybrids
   are two ways to make one (Layers.v). Positions are 1-based, as in the paper. *)
From Coq Require Import List Arith.
From Orthros Require Import Lists.
Import ListNotations.

Section Model.
  Context {Token X E Logit : Type}.

  (* One layer, with one set of weights that both streams share.
     entry:      what position t writes to the cache, from the entries before it and its base row
                 (an attention layer ignores the entries before: its keys and values come from x).
     base_row:   the base row at t after the layer, from the entries of positions 1..t.
     output_row: an output copy at t after the layer, from the same entries. *)
  Record Layer := {
    entry : list E -> nat -> X -> E;
    base_row : list E -> nat -> X -> X;
    output_row : list E -> nat -> X -> X
  }.

  (* embed starts base rows, embed_copy starts output copies. In the real model they are one
     function; they are kept apart so that the oracle can tell the two streams' leaves apart. *)
  Record Model := {
    embed : Token -> X;
    embed_copy : Token -> X;
    layers : list Layer;
    head : X -> Logit
  }.

  (* The cache c of one layer after the base rows xs have been appended. *)
  Fixpoint fill (L : Layer) (c : list E) (xs : list X) : list E :=
    match xs with
    | [] => c
    | x :: rest => fill L (c ++ [entry L c (S (length c)) x]) rest
    end.

  (* One layer over a chunk: entries are written first, then every row reads them up to its own
     position. c is the cache before the chunk, whose first row stands at position length c + 1. *)
  Definition base_step (L : Layer) (c : list E) (xs : list X) : list X :=
    let written := fill L c xs in
    at_positions (fun t x => base_row L (firstn t written) t x) (S (length c)) xs.

  Definition output_step (L : Layer) (c : list E) (xs : list X) (copies : list (nat * X)) :=
    let written := fill L c xs in
    map (fun '(t, x) => (t, output_row L (firstn t written) t x)) copies.

  Record Result := { new_caches : list (list E); base_rows : list X; output_rows : list (nat * X) }.

  (* Both streams through all layers, side by side. A copy is a pair of its position and its row. *)
  Fixpoint run (ls : list Layer) (cs : list (list E)) (xs : list X) (copies : list (nat * X)) :=
    match ls, cs with
    | L :: ls', c :: cs' =>
        let r := run ls' cs' (base_step L c xs) (output_step L c xs copies) in
        {| new_caches := fill L c xs :: new_caches r;
           base_rows := base_rows r;
           output_rows := output_rows r |}
    | _, _ => {| new_caches := []; base_rows := xs; output_rows := copies |}
    end.

  (* A sequence in progress: the tokens read so far and one cache per layer. *)
  Record Sequence := { tokens : list Token; caches : list (list E) }.

  Definition start (M : Model) : Sequence :=
    {| tokens := []; caches := map (fun _ => []) (layers M) |}.

  (* The copies asked for; a position that holds no token gives none. *)
  Definition copies_at (M : Model) (toks : list Token) (outs : list nat) : list (nat * X) :=
    flat_map (fun t => match lookup toks t with
                       | Some a => [(t, embed_copy M a)]
                       | None => []
                       end) outs.

  Record Forward := {
    after : Sequence;              (* the sequence with the chunk's tokens and entries appended *)
    hidden : list X;               (* the chunk's base rows after the last layer *)
    logits : list (nat * Logit)    (* position and logits of every output copy, as asked for *)
  }.

  (* The one function: append the chunk's base entries, return logits at the output positions. *)
  Definition forward (M : Model) (s : Sequence) (chunk : list Token) (outs : list nat) : Forward :=
    let toks := tokens s ++ chunk in
    let r := run (layers M) (caches s) (map (embed M) chunk) (copies_at M toks outs) in
    {| after := {| tokens := toks; caches := new_caches r |};
       hidden := base_rows r;
       logits := map (fun '(t, x) => (t, head M x)) (output_rows r) |}.

  (* A sequence is well formed when every layer has a cache with one entry for every token. *)
  Definition well_formed (M : Model) (s : Sequence) : Prop :=
    length (caches s) = length (layers M) /\
    Forall (fun c => length c = length (tokens s)) (caches s).

  (* One copy alone, through all layers, over finished caches. *)
  Fixpoint copy_through (ls : list Layer) (cs : list (list E)) (t : nat) (x : X) : X :=
    match ls, cs with
    | L :: ls', c :: cs' => copy_through ls' cs' t (output_row L (firstn t c) t x)
    | _, _ => x
    end.

  Definition logit_at (M : Model) (s : Sequence) (t : nat) : list (nat * Logit) :=
    match lookup (tokens s) t with
    | Some a => [(t, head M (copy_through (layers M) (caches s) t (embed_copy M a)))]
    | None => []
    end.
End Model.

Arguments Layer : clear implicits.
Arguments Model : clear implicits.
Arguments Sequence : clear implicits.
Arguments Forward : clear implicits.
Arguments Result : clear implicits.

Section Facts.
  Context {Token X E Logit : Type}.
  Implicit Types (L : Layer X E) (M : Model Token X E Logit).

  Lemma fill_app L c xs ys : fill L c (xs ++ ys) = fill L (fill L c xs) ys.
  Proof. revert c; induction xs; simpl; auto. Qed.

  Lemma fill_length L c xs : length (fill L c xs) = length c + length xs.
  Proof.
    revert c; induction xs; simpl; intros; auto.
    rewrite IHxs, app_length. simpl. now rewrite <- Nat.add_assoc.
  Qed.

  (* Filling only appends. *)
  Lemma fill_extends L c xs : exists new, fill L c xs = c ++ new.
  Proof.
    revert c; induction xs; simpl; intros; [exists []; now rewrite app_nil_r|].
    destruct (IHxs (c ++ [entry L c (S (length c)) a])) as [new ->].
    eexists. rewrite <- app_assoc. reflexivity.
  Qed.

  Lemma firstn_fill L c xs t : t <= length c -> firstn t (fill L c xs) = firstn t c.
  Proof. intro. destruct (fill_extends L c xs) as [new ->]. now apply firstn_app_left. Qed.

  Lemma base_step_length L c xs : length (base_step L c xs) = length xs.
  Proof. apply at_positions_length. Qed.
End Facts.
