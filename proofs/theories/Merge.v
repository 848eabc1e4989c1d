(* Merge: softmax attention over a cache split into parts, put together from partial results.

   Scores and weights live in any field with an exponential, values in any module over it; both
   are given as section hypotheses. The maximum may be any associative and commutative operation:
   it only keeps numbers small, and the results do not depend on it. *)
From Coq Require Import List Permutation Ring Field.
Import ListNotations.

Section Merge.
  Variable F : Type.
  Variables (zero one : F) (add mul sub div : F -> F -> F) (opp inv : F -> F).
  Hypothesis field : field_theory zero one add mul sub opp div inv (@eq F).
  Add Field F_field : field.

  Variable exp : F -> F.
  Hypothesis exp_zero : exp zero = one.
  Hypothesis exp_add : forall x y, exp (add x y) = mul (exp x) (exp y).

  Variable max : F -> F -> F.
  Hypothesis max_assoc : forall x y z, max x (max y z) = max (max x y) z.
  Hypothesis max_comm : forall x y, max x y = max y x.

  (* Values: a row of V, added and scaled. *)
  Variables (V : Type) (vzero : V) (vadd : V -> V -> V) (scale : F -> V -> V).
  Hypothesis vadd_zero : forall u, vadd u vzero = u.
  Hypothesis vadd_comm : forall u v, vadd u v = vadd v u.
  Hypothesis vadd_assoc : forall u v w, vadd u (vadd v w) = vadd (vadd u v) w.
  Hypothesis scale_one : forall u, scale one u = u.
  Hypothesis scale_scale : forall x y u, scale x (scale y u) = scale (mul x y) u.
  Hypothesis scale_vadd : forall x u v, scale x (vadd u v) = vadd (scale x u) (scale x v).
  Hypothesis scale_vzero : forall x, scale x vzero = vzero.

  (* A partial result over some keys: None for no keys (maximum -inf, sum 0, output 0), else the
     stabiliser m, the sum l of exp(s - m), and the unnormalised output o. *)
  Definition Partial : Type := option (F * F * V).

  Definition merge (p q : Partial) : Partial :=
    match p, q with
    | None, _ => q
    | _, None => p
    | Some (m1, l1, o1), Some (m2, l2, o2) =>
        let m := max m1 m2 in
        Some (m,
              add (mul (exp (sub m1 m)) l1) (mul (exp (sub m2 m)) l2),
              vadd (scale (exp (sub m1 m)) o1) (scale (exp (sub m2 m)) o2))
    end.

  Lemma exp_sub_trans x y z : mul (exp (sub y z)) (exp (sub x y)) = exp (sub x z).
  Proof. rewrite <- exp_add. f_equal. ring. Qed.

  (* The empty range is the identity of merging, on either side. *)
  Theorem merge_empty p : merge None p = p /\ merge p None = p.
  Proof. now destruct p as [[[m l] o]|]. Qed.

  (* Merging is commutative. *)
  Theorem merge_comm p q : merge p q = merge q p.
  Proof.
    destruct p as [[[m1 l1] o1]|], q as [[[m2 l2] o2]|]; simpl; auto.
    rewrite (max_comm m2 m1). f_equal. f_equal; [f_equal; ring|apply vadd_comm].
  Qed.

  (* Merging is associative. *)
  Theorem merge_assoc p q r : merge p (merge q r) = merge (merge p q) r.
  Proof.
    destruct p as [[[m1 l1] o1]|], q as [[[m2 l2] o2]|], r as [[[m3 l3] o3]|]; simpl; auto.
    rewrite max_assoc. set (m := max (max m1 m2) m3).
    assert (distribute : forall a b x c y,
      mul a (add (mul b x) (mul c y)) = add (mul (mul a b) x) (mul (mul a c) y)) by (intros; ring).
    rewrite !distribute, !scale_vadd, !scale_scale, !exp_sub_trans.
    f_equal. f_equal; [f_equal; ring|apply vadd_assoc].
  Qed.

  (* Softmax attention over a list of (score, value) pairs, as Eq. 5 writes it. *)
  Definition weight_sum (keys : list (F * V)) : F :=
    fold_right (fun k s => add (exp (fst k)) s) zero keys.
  Definition weighted_sum (keys : list (F * V)) : V :=
    fold_right (fun k s => vadd (scale (exp (fst k)) (snd k)) s) vzero keys.
  Definition softmax (keys : list (F * V)) : V := scale (inv (weight_sum keys)) (weighted_sum keys).

  (* A partial result is right for its keys when l and o are the sums, taken relative to its m,
     whatever that m is: a running maximum, the true maximum of a block, or any other number. *)
  Definition right_for (p : Partial) (keys : list (F * V)) : Prop :=
    match p with
    | None => keys = []
    | Some (m, l, o) =>
        l = mul (exp (opp m)) (weight_sum keys) /\ o = scale (exp (opp m)) (weighted_sum keys)
    end.

  (* The result: o / l. *)
  Definition normalise (p : Partial) : V :=
    match p with None => vzero | Some (_, l, o) => scale (inv l) o end.

  Lemma weight_sum_app ks ks' : weight_sum (ks ++ ks') = add (weight_sum ks) (weight_sum ks').
  Proof.
    induction ks as [|k ks IH]; simpl; [ring|]. rewrite IH. ring.
  Qed.

  Lemma weighted_sum_app ks ks' :
    weighted_sum (ks ++ ks') = vadd (weighted_sum ks) (weighted_sum ks').
  Proof.
    induction ks as [|k ks IH]; simpl; [now rewrite vadd_comm, vadd_zero|].
    now rewrite IH, vadd_assoc.
  Qed.

  Lemma exp_rescale m n : mul (exp (sub m n)) (exp (opp m)) = exp (opp n).
  Proof. rewrite <- exp_add. f_equal. ring. Qed.

  (* Merging right partial results of two key ranges gives a right one of both together. *)
  Theorem merge_is_right p q ks ks' :
    right_for p ks -> right_for q ks' -> right_for (merge p q) (ks ++ ks').
  Proof.
    destruct p as [[[m1 l1] o1]|], q as [[[m2 l2] o2]|]; simpl; intros Hp Hq;
      try (rewrite Hp); try (rewrite Hq); rewrite ?app_nil_r; auto.
    destruct Hp as [-> ->], Hq as [-> ->]. rewrite weight_sum_app, weighted_sum_app.
    split.
    - transitivity (add (mul (mul (exp (sub m1 (max m1 m2))) (exp (opp m1))) (weight_sum ks))
                        (mul (mul (exp (sub m2 (max m1 m2))) (exp (opp m2))) (weight_sum ks')));
        [ring|]. rewrite !exp_rescale. ring.
    - now rewrite !scale_scale, !exp_rescale, scale_vadd.
  Qed.

  (* All parts at once, under one number M (their largest maximum, say): l is the sum of
     exp(m_s - M) l_s, and o likewise, part after part. *)
  Definition merge_under (M : F) (parts : list Partial) : F * F * V :=
    (M,
     fold_right (fun p s => match p with
                            | None => s
                            | Some (m, l, _) => add (mul (exp (sub m M)) l) s
                            end) zero parts,
     fold_right (fun p s => match p with
                            | None => s
                            | Some (m, _, o) => vadd (scale (exp (sub m M)) o) s
                            end) vzero parts).

  (* Merging all parts under one M is right for all of their keys together, whatever M is. *)
  Theorem merge_under_is_right M parts shards :
    Forall2 right_for parts shards -> right_for (Some (merge_under M parts)) (concat shards).
  Proof.
    induction 1 as [|p keys parts shards Hp _ IH]; simpl.
    - split; [ring|now rewrite scale_vzero].
    - simpl in IH. destruct IH as [Hl Ho]. rewrite Hl, Ho, weight_sum_app, weighted_sum_app.
      destruct p as [[[m l] o]|]; simpl in Hp.
      + destruct Hp as [-> ->]. split.
        * rewrite <- (exp_rescale m M) at 2. rewrite <- (exp_rescale m M). ring.
        * now rewrite !scale_scale, !exp_rescale, scale_vadd.
      + rewrite Hp. simpl. split; [ring|]. now rewrite vadd_comm, vadd_zero.
  Qed.

  Lemma exp_nonzero x : exp x <> zero.
  Proof.
    intro H. apply (F_1_neq_0 field). rewrite <- exp_zero.
    replace zero with (add x (opp x)) by ring. rewrite exp_add, H. ring.
  Qed.

  (* Normalising a right partial result gives softmax, whatever the stabiliser was. *)
  Theorem normalised_partial_is_softmax p ks :
    right_for p ks -> ks <> [] -> weight_sum ks <> zero -> normalise p = softmax ks.
  Proof.
    destruct p as [[[m l] o]|]; simpl; [|contradiction]. intros [-> ->] _ Hs.
    rewrite scale_scale. unfold softmax. f_equal. field. split; auto using exp_nonzero.
  Qed.

  Definition merge_all (parts : list Partial) : Partial := fold_right merge None parts.

  (* The partial result of a key range, one key at a time (flash attention's running form). *)
  Definition partial_of (keys : list (F * V)) : Partial :=
    merge_all (map (fun k => Some (fst k, one, snd k)) keys).

  Lemma partial_of_right keys : right_for (partial_of keys) keys.
  Proof.
    induction keys as [|[s v] keys IH]; [reflexivity|].
    apply (merge_is_right (Some (s, one, v)) (partial_of keys) [(s, v)] keys); auto.
    simpl. rewrite vadd_zero, scale_scale.
    replace (mul (exp (opp s)) (exp s)) with one
      by (rewrite <- exp_add, <- exp_zero; f_equal; ring).
    rewrite scale_one. split; auto.
    replace (add (exp s) zero) with (exp s) by ring.
    rewrite <- exp_add, <- exp_zero. f_equal. ring.
  Qed.

  Lemma partial_of_app ks ks' : partial_of (ks ++ ks') = merge (partial_of ks) (partial_of ks').
  Proof.
    induction ks as [|k ks IH]; [reflexivity|].
    change (partial_of ((k :: ks) ++ ks'))
      with (merge (Some (fst k, one, snd k)) (partial_of (ks ++ ks'))).
    rewrite IH. apply merge_assoc.
  Qed.

  (* Parts merge in any order to the same partial result, to the last number. *)
  Theorem merge_order_does_not_matter parts parts' :
    Permutation parts parts' -> merge_all parts = merge_all parts'.
  Proof.
    induction 1 as [|p ps ps' _ IH|p q ps|ps1 ps2 ps3 _ IH1 _ IH2]; simpl; auto.
    - now rewrite IH.
    - now rewrite !merge_assoc, (merge_comm q p).
    - congruence.
  Qed.

  Lemma partial_of_permuted ks ks' : Permutation ks ks' -> partial_of ks = partial_of ks'.
  Proof. intro H. apply merge_order_does_not_matter. now apply Permutation_map. Qed.

  Lemma merge_all_shards shards : merge_all (map partial_of shards) = partial_of (concat shards).
  Proof.
    induction shards as [|ks shards IH]; cbn [map concat]; [reflexivity|].
    rewrite partial_of_app, <- IH. reflexivity.
  Qed.

  (* An output copy whose KV is split across shards: with the keys in any split and any order, the
     merged partial results normalise to the copy over the whole history. score gives an entry's
     score against the copy's query, and its value. *)
  Theorem output_copy_over_shards (E Q : Type) (score : Q -> E -> F * V) (q : Q) shards history :
    Permutation (concat shards) history -> history <> [] ->
    weight_sum (map (score q) history) <> zero ->
    normalise (merge_all (map (fun shard => partial_of (map (score q) shard)) shards)) =
    softmax (map (score q) history).
  Proof.
    intros Hp Hne Hs.
    replace (map (fun shard => partial_of (map (score q) shard)) shards)
      with (map partial_of (map (map (score q)) shards)) by apply map_map.
    rewrite merge_all_shards, <- concat_map.
    rewrite (partial_of_permuted _ (map (score q) history)) by now apply Permutation_map.
    apply normalised_partial_is_softmax; auto using partial_of_right.
    destruct history; [contradiction|discriminate].
  Qed.
End Merge.
