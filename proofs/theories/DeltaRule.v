(* The gated delta rule in chunks: its WY form, over any commutative ring.

   The recurrence S <- g S; S <- S + k^T beta (v - k S) is linear attention whose values are
   replaced by corrected ones, u = beta (v - k g S). Within a chunk the u solve a unit
   lower-triangular system whose right-hand side is linear in the chunk's first state S0, so that
   u = U - W S0 with U and W computed from the chunk's tokens alone: that is what a chunked kernel
   does. *)
From Coq Require Import List Arith Ring Lia.
From Orthros Require Import LinearAttention.
Import ListNotations.

Section DeltaRule.
  Variable R : Type.
  Variables (zero one : R) (add mul sub : R -> R -> R) (opp : R -> R).
  Hypothesis ring : ring_theory zero one add mul sub opp (@eq R).
  Add Ring R_ring : ring.

  Variable K : nat.
  Notation Vector := (nat -> R).
  Notation dot := (dot R zero add mul K).
  Notation channels := (channels R zero add).

  (* One token: decay g, key k, write gate beta, value v (one value channel). *)
  Record Delta := { gate : R; delta_key : Vector; beta : R; delta_value : R }.

  Definition corrected (s : Vector) (t : Delta) : R :=
    mul (beta t) (sub (delta_value t) (dot (delta_key t) (fun i => mul (gate t) (s i)))).

  Definition delta_step (s : Vector) (t : Delta) : Vector :=
    fun i => add (mul (gate t) (s i)) (mul (delta_key t i) (corrected s t)).

  (* The corrected values that the recurrence meets, token by token. *)
  Fixpoint corrected_values (s : Vector) (ts : list Delta) : list R :=
    match ts with
    | [] => []
    | t :: rest => corrected s t :: corrected_values (delta_step s t) rest
    end.

  (* Linear attention's tokens, with given values. *)
  Definition with_values (ts : list Delta) (us : list R) : list (Token R) :=
    map (fun '(t, u) => {| decay := fun _ => gate t; key := delta_key t; value := u |})
      (combine ts us).

  (* The gated delta rule is linear attention with decay over corrected values; so LinearAttention's
     chunkwise forms of state and output hold for it. *)
  Theorem delta_rule_is_linear_attention s ts :
    fold_left delta_step ts s =
    states R add mul s (with_values ts (corrected_values s ts)).
  Proof.
    revert s. induction ts as [|t ts IH]; intro s; [reflexivity|]. apply (IH (delta_step s t)).
  Qed.

  (* Forward substitution. done holds the earlier tokens with their solutions, the newest first;
     pulls sums, over them, decay x (k_t . k_j) x u_j, the decay running from after j up to t. *)
  Fixpoint pulls (d : R) (k : Vector) (done : list (Delta * R)) : R :=
    match done with
    | [] => zero
    | (t, u) :: older =>
        add (mul (mul d (dot k (delta_key t))) u) (pulls (mul d (gate t)) k older)
    end.

  Fixpoint substitute (done : list (Delta * R)) (system : list (Delta * R)) : list R :=
    match system with
    | [] => []
    | (t, b) :: rest =>
        let u := sub b (mul (beta t) (pulls (gate t) (delta_key t) done)) in
        u :: substitute ((t, u) :: done) rest
    end.

  (* A right-hand side from a function of the token and the decay since the chunk's start. *)
  Fixpoint system (f : Delta -> R -> R) (B : R) (ts : list Delta) : list (Delta * R) :=
    match ts with
    | [] => []
    | t :: rest => (t, f t (mul (gate t) B)) :: system f (mul (gate t) B) rest
    end.

  (* What the earlier tokens have written into channel i of the state, decayed by d since. *)
  Fixpoint kept (d : R) (i : nat) (done : list (Delta * R)) : R :=
    match done with
    | [] => zero
    | (t, u) :: older => add (mul (mul d (delta_key t i)) u) (kept (mul d (gate t)) i older)
    end.

  Lemma channels_ext n f g : (forall i, i < n -> f i = g i) -> channels n f = channels n g.
  Proof. induction n as [|n IH]; simpl; intro H; auto. rewrite H, IH; auto. Qed.

  Lemma channels_linear n f g x :
    channels n (fun i => add (f i) (mul x (g i))) = add (channels n f) (mul x (channels n g)).
  Proof. induction n as [|n IH]; simpl; [|rewrite IH]; ring. Qed.

  Lemma channels_zero n : channels n (fun _ => zero) = zero.
  Proof. induction n as [|n IH]; simpl; [|rewrite IH]; ring. Qed.

  Lemma dot_kept d k done : dot k (fun i => kept d i done) = pulls d k done.
  Proof.
    revert d. induction done as [|[t u] older IH]; intro d; simpl;
      unfold LinearAttention.dot in *.
    - rewrite (channels_ext K _ (fun _ => zero)) by (intros; ring). apply channels_zero.
    - rewrite <- IH.
      rewrite (channels_ext K _ (fun i => add (mul (k i) (kept (mul d (gate t)) i older))
        (mul (mul d u) (mul (k i) (delta_key t i))))) by (intros; ring).
      rewrite channels_linear. ring.
  Qed.

  Lemma kept_scaled x d i done : kept (mul x d) i done = mul x (kept d i done).
  Proof.
    revert d. induction done as [|[t u] older IH]; intro d; simpl; [ring|].
    replace (mul (mul x d) (gate t)) with (mul x (mul d (gate t))) by ring. rewrite IH. ring.
  Qed.

  Lemma corrected_by_substitution S0 ts B done s :
    (forall i, s i = add (mul B (S0 i)) (kept one i done)) ->
    corrected_values s ts =
    substitute done
      (system (fun t B => mul (beta t) (sub (delta_value t) (mul B (dot (delta_key t) S0)))) B ts).
  Proof.
    revert B done s. induction ts as [|t ts IH]; intros B done s Hs; [reflexivity|].
    assert (E : dot (delta_key t) (fun i => mul (gate t) (s i)) =
      add (mul (mul (gate t) B) (dot (delta_key t) S0)) (pulls (gate t) (delta_key t) done)).
    { rewrite <- dot_kept. unfold LinearAttention.dot.
      rewrite (channels_ext K _ (fun i => add (mul (delta_key t i) (kept (gate t) i done))
        (mul (mul (gate t) B) (mul (delta_key t i) (S0 i))))).
      - rewrite channels_linear. ring.
      - intros i _. rewrite Hs. replace (gate t) with (mul (gate t) one) at 2 by ring.
        rewrite kept_scaled. ring. }
    cbn [corrected_values system substitute].
    assert (U : corrected s t =
      sub (mul (beta t) (sub (delta_value t) (mul (mul (gate t) B) (dot (delta_key t) S0))))
        (mul (beta t) (pulls (gate t) (delta_key t) done))) by (unfold corrected; rewrite E; ring).
    rewrite <- U. f_equal. apply IH. intro i. unfold delta_step. rewrite Hs. simpl kept.
    replace (mul one (gate t)) with (mul (gate t) one) by ring. rewrite kept_scaled. ring.
  Qed.

  (* The corrected values solve the chunk's unit lower-triangular system, by forward substitution:
     (I + A) u = beta (v - B k S0), with A_tj = beta_t (decay from j to t) (k_t . k_j) below the
     diagonal and B_t the decay from the chunk's start. *)
  Theorem corrected_values_solve_the_chunk s ts :
    corrected_values s ts =
    substitute []
      (system (fun t B => mul (beta t) (sub (delta_value t) (mul B (dot (delta_key t) s)))) one ts).
  Proof. apply corrected_by_substitution. intro i. simpl. ring. Qed.

  (* Substitution is linear in the right-hand side. *)
  Lemma pulls_linear d k x (done : list (Delta * R * R)) :
    pulls d k (map (fun '(t, u, w) => (t, add u (mul x w))) done) =
    add (pulls d k (map (fun '(t, u, w) => (t, u)) done))
        (mul x (pulls d k (map (fun '(t, u, w) => (t, w)) done))).
  Proof.
    revert d. induction done as [|[[t u] w] done IH]; intro d; simpl; [ring|]. rewrite IH. ring.
  Qed.

  Lemma substitute_linear f h x B ts (done : list (Delta * R * R)) j :
    nth j (substitute (map (fun '(t, u, w) => (t, add u (mul x w))) done)
             (system (fun t B => add (f t B) (mul x (h t B))) B ts)) zero =
    add (nth j (substitute (map (fun '(t, u, w) => (t, u)) done) (system f B ts)) zero)
        (mul x (nth j (substitute (map (fun '(t, u, w) => (t, w)) done) (system h B ts)) zero)).
  Proof.
    revert B done j. induction ts as [|t ts IH]; intros B done j.
    - destruct j; simpl; ring.
    - cbn [system substitute]. rewrite pulls_linear.
      set (b := mul (gate t) B). set (p := pulls _ _ _). set (p' := pulls _ _ _).
      destruct j as [|j]; [simpl; ring|]. cbn [nth].
      etransitivity;
        [|exact (IH b ((t, sub (f t b) (mul (beta t) p), sub (h t b) (mul (beta t) p'))
                       :: done) j)].
      cbn [map]. f_equal. f_equal. f_equal. f_equal. ring.
  Qed.

  Lemma system_ext f g B ts : (forall t b, f t b = g t b) -> system f B ts = system g B ts.
  Proof. intro H. revert B. induction ts as [|t ts IH]; intro B; simpl; [|rewrite H, IH]; auto. Qed.

  (* U and, for key channel i, W_i: the system's solutions for beta v and for beta B k_i. Neither
     knows S0. *)
  Definition U (ts : list Delta) : list R :=
    substitute [] (system (fun t _ => mul (beta t) (delta_value t)) one ts).
  Definition W (i : nat) (ts : list Delta) : list R :=
    substitute [] (system (fun t B => mul (mul (beta t) B) (delta_key t i)) one ts).

  (* The WY form: token j's corrected value is U_j - W_j . S0. *)
  Theorem wy_form s ts j :
    nth j (corrected_values s ts) zero =
    sub (nth j (U ts) zero) (dot (fun i => nth j (W i ts) zero) s).
  Proof.
    rewrite corrected_values_solve_the_chunk. unfold LinearAttention.dot.
    assert (G : forall n,
      nth j (substitute [] (system (fun t B => mul (beta t) (sub (delta_value t)
        (mul B (channels n (fun i => mul (delta_key t i) (s i)))))) one ts)) zero =
      sub (nth j (U ts) zero) (channels n (fun i => mul (nth j (W i ts) zero) (s i)))).
    { induction n as [|n IH]; simpl channels.
      - unfold U.
        rewrite (system_ext _ (fun t _ => mul (beta t) (delta_value t))) by (intros; ring).
        ring.
      - rewrite (system_ext _ (fun t B => add (mul (beta t) (sub (delta_value t)
          (mul B (channels n (fun i => mul (delta_key t i) (s i))))))
          (mul (opp (s n)) (mul (mul (beta t) B) (delta_key t n))))) by (intros; ring).
        rewrite (substitute_linear _ _ (opp (s n)) one ts [] j). cbn [map].
        rewrite IH. fold (W n ts). ring. }
    apply G.
  Qed.
End DeltaRule.
