(* The two ways to make a layer: the paper's attention (Eqs. 4 and 5) and a recurrent mixer. *)
From Coq Require Import List Arith.
From Orthros Require Import Lists Model.
Import ListNotations.

Section Attention.
  Context {X E Q A : Type}.

  (* An attention layer. Every function takes the logical position t where RoPE would.
     key_value    norm, W_K, W_V, qk-norm and RoPE: the cache entry of position t
     query        the base stream's query, with its scale-offset alpha, beta
     query_output the output stream's query, with alpha', beta'
     attend       softmax attention of one query over the visible entries, in position order
     finish       residual, W_O, second norm and SwiGLU: shared by both streams *)
  Record Attention := {
    window : nat;
    key_value : nat -> X -> E;
    query : nat -> X -> Q;
    query_output : nat -> X -> Q;
    attend : Q -> list E -> A;
    finish : X -> A -> X
  }.

  (* Eq. 4 for the base stream: the last w entries, its own included. Eq. 5 for an output copy: the
     full history up to its own position, that position's base entry included. *)
  Definition attention_layer (a : Attention) : Layer X E := {|
    entry := fun _ t x => key_value a t x;
    base_row := fun seen t x => finish a x (attend a (query a t x) (last_n (window a) seen));
    output_row := fun seen t x => finish a x (attend a (query_output a t x) seen)
  |}.

  (* An attention layer's cache holds every row's own entry, at its position. *)
  Lemma fill_attention a c xs :
    fill (attention_layer a) c xs = c ++ at_positions (key_value a) (S (length c)) xs.
  Proof.
    revert c; induction xs; simpl; intro c; [now rewrite app_nil_r|].
    rewrite IHxs, app_length, <- app_assoc. simpl. now rewrite Nat.add_1_r.
  Qed.
End Attention.

Arguments Attention : clear implicits.

Section Recurrent.
  Context {X State A : Type}.

  (* A recurrent mixer: GDN, GLA, retention. The state may hold a convolution's tail beside the
     matrix.
     update       the state after token x
     read_base    the base stream's read of the state after its token's update
     read_output  an output copy's read of that same state
     finish_row   residual, gate, W_O, second norm and SwiGLU *)
  Record Recurrent := {
    initial : State;
    update : State -> X -> State;
    read_base : State -> X -> A;
    read_output : State -> X -> A;
    finish_row : X -> A -> X
  }.

  (* Entry t of a recurrent layer is the state after token t, so the last entry is all that later
     positions need; an engine keeps that one alone. *)
  Definition recurrent_layer (r : Recurrent) : Layer X State := {|
    entry := fun before _ x => update r (last before (initial r)) x;
    base_row := fun seen _ x => finish_row r x (read_base r (last seen (initial r)) x);
    output_row := fun seen _ x => finish_row r x (read_output r (last seen (initial r)) x)
  |}.
End Recurrent.

Arguments Recurrent : clear implicits.
