(* Linear attention with decay, over any commutative ring: the chunkwise form equals the recurrence.

   One value channel at a time: the state is a vector over key channels i < K. Per key channel
   decays cover GLA; one decay for all channels is retention, and the gated delta rule's decay. *)
From Coq Require Import List Arith Ring Lia.
Import ListNotations.

Section LinearAttention.
  Variable R : Type.
  Variables (zero one : R) (add mul sub : R -> R -> R) (opp : R -> R).
  Hypothesis ring : ring_theory zero one add mul sub opp (@eq R).
  Add Ring R_ring : ring.

  Variable K : nat.
  Definition Vector := nat -> R.

  (* The sum over key channels below n of f i. *)
  Fixpoint channels (n : nat) (f : Vector) : R :=
    match n with 0 => zero | S m => add (channels m f) (f m) end.

  Definition dot (q s : Vector) : R := channels K (fun i => mul (q i) (s i)).

  (* One token: its decay per key channel, key, and value. *)
  Record Token := { decay : Vector; key : Vector; value : R }.

  (* S <- diag(decay) S + k^T v. *)
  Definition step (s : Vector) (t : Token) : Vector :=
    fun i => add (mul (decay t i) (s i)) (mul (key t i) (value t)).

  Definition states (s : Vector) (ts : list Token) : Vector := fold_left step ts s.

  (* The product of a chunk's decays in channel i. *)
  Definition decays (ts : list Token) (i : nat) : R :=
    fold_right (fun t p => mul (decay t i) p) one ts.

  (* Chunkwise, state: the old state decayed over the whole chunk, and each token's outer product
     decayed over the tokens after it. *)
  Fixpoint outer_products (ts : list Token) (i : nat) : R :=
    match ts with
    | [] => zero
    | t :: rest => add (mul (mul (decays rest i) (key t i)) (value t)) (outer_products rest i)
    end.

  Definition chunk_state (s : Vector) (ts : list Token) : Vector :=
    fun i => add (mul (decays ts i) (s i)) (outer_products ts i).

  (* Chunkwise, output: a query after the chunk's tokens ts reads the old state through the decays
     (inter-chunk), and each token by a score, a masked matrix product (intra-chunk). *)
  Definition score (q : Vector) (t : Token) (later : list Token) : R :=
    channels K (fun i => mul (mul (q i) (decays later i)) (key t i)).

  Fixpoint intra (q : Vector) (ts : list Token) : R :=
    match ts with
    | [] => zero
    | t :: rest => add (mul (score q t rest) (value t)) (intra q rest)
    end.

  Definition chunk_read (s q : Vector) (ts : list Token) : R :=
    add (channels K (fun i => mul (mul (q i) (decays ts i)) (s i))) (intra q ts).

  Lemma channels_ext n f g : (forall i, i < n -> f i = g i) -> channels n f = channels n g.
  Proof. induction n as [|n IH]; simpl; intro H; auto. rewrite H, IH; auto. Qed.

  Lemma channels_add n f g :
    channels n (fun i => add (f i) (g i)) = add (channels n f) (channels n g).
  Proof. induction n as [|n IH]; simpl; [|rewrite IH]; ring. Qed.

  Lemma channels_scale n f v : channels n (fun i => mul (f i) v) = mul (channels n f) v.
  Proof. induction n as [|n IH]; simpl; [|rewrite IH]; ring. Qed.

  (* A chunk's state in one go equals the recurrence's, in every channel. *)
  Theorem chunkwise_state_equals_recurrence s ts i : chunk_state s ts i = states s ts i.
  Proof.
    revert s. induction ts as [|t ts IH]; intro s.
    - unfold chunk_state; simpl. ring.
    - change (states s (t :: ts) i) with (states (step s t) ts i). rewrite <- IH.
      unfold chunk_state, step. simpl. ring.
  Qed.

  (* A query's output from the old state and the chunk's tokens up to its own equals its read of the
     recurrent state there. *)
  Theorem chunkwise_output_equals_recurrence s q ts : chunk_read s q ts = dot q (states s ts).
  Proof.
    unfold dot. rewrite (channels_ext K _ (fun i => mul (q i) (chunk_state s ts i)))
      by (intros; now rewrite chunkwise_state_equals_recurrence).
    unfold chunk_read, chunk_state.
    rewrite (channels_ext K (fun i => mul (q i) (add _ _))
      (fun i => add (mul (mul (q i) (decays ts i)) (s i)) (mul (q i) (outer_products ts i))))
      by (intros; ring).
    rewrite channels_add. f_equal. clear s. induction ts as [|t ts IH]; simpl.
    - rewrite (channels_ext K _ (fun i => mul zero zero)) by (intros; ring).
      rewrite channels_scale. ring.
    - rewrite IH. unfold score. rewrite <- channels_scale, <- channels_add.
      apply channels_ext. intros. ring.
  Qed.

  (* Chunk after chunk, in any chunking, the states and so all reads are the recurrence's. *)
  Theorem chunkwise_any_chunking s chunks i :
    fold_left chunk_state chunks s i = states s (concat chunks) i.
  Proof.
    assert (E : forall ts s s', (forall i, s i = s' i) -> forall i, states s ts i = states s' ts i).
    { induction ts as [|t ts IH]; intros u u' H j; simpl; auto.
      apply IH. intro i'. unfold step. now rewrite H. }
    assert (C : forall cs s s', (forall i, s i = s' i) ->
      forall i, fold_left chunk_state cs s i = fold_left chunk_state cs s' i).
    { induction cs as [|c cs IH]; intros u u' H j; simpl; auto.
      apply IH. intro i'. unfold chunk_state. now rewrite H. }
    revert s i. induction chunks as [|c chunks IH]; intros s i; simpl; auto.
    rewrite (C chunks _ (states s c)) by (intro; apply chunkwise_state_equals_recurrence).
    rewrite IH. unfold states. now rewrite fold_left_app.
  Qed.
End LinearAttention.
