(* Sums over Z, and the closed forms of the pairs that attention visits. *)
From Coq Require Import List Arith ZArith Lia.
From Orthros Require Import Lists.
Import ListNotations.
Local Open Scope Z_scope.

(* f 1 + f 2 + .. + f n. *)
Fixpoint sum_to (n : nat) (f : Z -> Z) : Z :=
  match n with
  | O => 0
  | S m => sum_to m f + f (Z.of_nat n)
  end.

(* The sum of f over a list. *)
Definition sum_over {A} (f : A -> Z) (xs : list A) : Z := fold_right (fun x s => f x + s) 0 xs.

Lemma sum_to_ext n f g : (forall i, 1 <= i <= Z.of_nat n -> f i = g i) -> sum_to n f = sum_to n g.
Proof.
  induction n as [|n IH]; intro H; [reflexivity|]. cbn [sum_to]. rewrite IH, H; auto; [lia|].
  intros. apply H. lia.
Qed.

Lemma sum_to_add n f g : sum_to n (fun i => f i + g i) = sum_to n f + sum_to n g.
Proof. induction n as [|n IH]; cbn [sum_to]; lia. Qed.

Lemma sum_to_scale n c f : sum_to n (fun i => c * f i) = c * sum_to n f.
Proof. induction n as [|n IH]; cbn [sum_to]; lia. Qed.

Lemma sum_to_const n c : sum_to n (fun _ => c) = Z.of_nat n * c.
Proof. induction n as [|n IH]; cbn [sum_to]; lia. Qed.

Lemma sum_to_app n m f :
  sum_to (n + m) f = sum_to n f + sum_to m (fun i => f (Z.of_nat n + i)).
Proof.
  induction m as [|m IH]; [rewrite Nat.add_0_r; cbn [sum_to]; lia|].
  rewrite Nat.add_succ_r. cbn [sum_to]. rewrite IH.
  replace (Z.of_nat (S (n + m))) with (Z.of_nat n + Z.of_nat (S m)) by lia. lia.
Qed.

Lemma sum_over_app {A} (f : A -> Z) xs ys : sum_over f (xs ++ ys) = sum_over f xs + sum_over f ys.
Proof. induction xs as [|x xs IH]; simpl; lia. Qed.

Lemma sum_over_affine {A} (f : A -> Z) a b xs :
  sum_over (fun x => a + b * f x) xs = Z.of_nat (length xs) * a + b * sum_over f xs.
Proof.
  induction xs as [|x xs IH]; [simpl; lia|].
  change (sum_over f (x :: xs)) with (f x + sum_over f xs).
  change (sum_over (fun x => a + b * f x) (x :: xs)) with
    ((a + b * f x) + sum_over (fun x => a + b * f x) xs).
  rewrite IH. cbn [length]. lia.
Qed.

(* Pairs. A query at position t sees t keys under a causal mask, min(t, w) under a window. *)

Definition causal_pairs (T : Z) : Z := T * (T + 1) / 2.

Lemma causal_pairs_twice T : 2 * causal_pairs T = T * (T + 1).
Proof.
  unfold causal_pairs. symmetry. apply Z_div_exact_full_2; [lia|].
  rewrite Zmult_mod, Zplus_mod. pose proof (Z.mod_pos_bound T 2 ltac:(lia)).
  assert (H1 : T mod 2 = 0 \/ T mod 2 = 1) by lia. destruct H1 as [-> | ->]; reflexivity.
Qed.

(* Causal pairs of T positions: 1 + 2 + .. + T = T(T+1)/2. *)
Theorem causal_pairs_sum T : sum_to T (fun t => t) = causal_pairs (Z.of_nat T).
Proof.
  enough (2 * sum_to T (fun t => t) = 2 * causal_pairs (Z.of_nat T)) by lia.
  rewrite causal_pairs_twice. induction T as [|T IH]; [reflexivity|].
  cbn [sum_to]. nia.
Qed.

(* DESIGN's n_w, for T positions under a window of w. *)
Definition windowed_pairs (T w : Z) : Z :=
  if T <? w then causal_pairs T else T * w - w * (w - 1) / 2.

Lemma half_w w : 2 * (w * (w - 1) / 2) = w * (w - 1).
Proof.
  pose proof (causal_pairs_twice (w - 1)) as H. unfold causal_pairs in H.
  replace ((w - 1) * (w - 1 + 1)) with (w * (w - 1)) in H by lia. lia.
Qed.

(* Windowed pairs: the sum of min(t, w) is Tw - w(w-1)/2 once T reaches w, and the causal pairs
   before. *)
Theorem windowed_pairs_sum T w :
  0 <= w -> sum_to T (fun t => Z.min t w) = windowed_pairs (Z.of_nat T) w.
Proof.
  intro Hw. unfold windowed_pairs. destruct (Z.ltb_spec (Z.of_nat T) w) as [H|H].
  - rewrite <- causal_pairs_sum. apply sum_to_ext. lia.
  - replace T with (Z.to_nat w + (T - Z.to_nat w))%nat at 1 by lia. rewrite sum_to_app.
    rewrite (sum_to_ext _ (fun t => Z.min t w) (fun t => t)) by lia.
    rewrite (sum_to_ext _ (fun i => Z.min (Z.of_nat (Z.to_nat w) + i) w) (fun _ => w)) by lia.
    rewrite causal_pairs_sum, sum_to_const.
    pose proof (causal_pairs_twice w). pose proof (half_w w).
    rewrite Z2Nat.id by lia. nia.
Qed.

(* A chunk of m tokens after n visits nm + m(m+1)/2 causal pairs. *)
Theorem causal_chunk_pairs n m :
  sum_to m (fun i => Z.of_nat n + i) = Z.of_nat n * Z.of_nat m + causal_pairs (Z.of_nat m).
Proof. rewrite sum_to_add, sum_to_const, causal_pairs_sum. lia. Qed.

(* A chunk of m tokens after n visits the windowed pairs of n + m less those of n. *)
Theorem windowed_chunk_pairs n m w :
  0 <= w ->
  sum_to m (fun i => Z.min (Z.of_nat n + i) w) =
  windowed_pairs (Z.of_nat (n + m)) w - windowed_pairs (Z.of_nat n) w.
Proof. intro Hw. rewrite <- !windowed_pairs_sum, sum_to_app by auto. lia. Qed.

(* However a prompt is cut into chunks, its chunks visit the pairs of one shot. *)
Fixpoint chunked_sum (f : Z -> Z) (n : nat) (chunks : list nat) : Z :=
  match chunks with
  | [] => 0
  | m :: rest => sum_to m (fun i => f (Z.of_nat n + i)) + chunked_sum f (n + m) rest
  end.

Theorem chunks_visit_the_same_pairs f n chunks :
  sum_to n f + chunked_sum f n chunks = sum_to (n + fold_right Nat.add 0%nat chunks) f.
Proof.
  revert n. induction chunks as [|m rest IH]; intro n; cbn [chunked_sum fold_right].
  - rewrite Nat.add_0_r. lia.
  - rewrite Nat.add_assoc, <- IH, sum_to_app. lia.
Qed.

(* Decode of R tokens after a prompt of P reads P + r keys at step r: RP + R(R+1)/2 in all. *)
Theorem decode_pairs_sum P R :
  sum_to R (fun r => P + r) = Z.of_nat R * P + causal_pairs (Z.of_nat R).
Proof. rewrite sum_to_add, sum_to_const, causal_pairs_sum. lia. Qed.

(* The window of Model.v shows min(t, w) entries, so these sums count what it reads. *)
Theorem window_shows_min_entries {A} (cache : list A) w t :
  (t <= length cache)%nat ->
  Z.of_nat (length (last_n w (firstn t cache))) = Z.min (Z.of_nat t) (Z.of_nat w).
Proof. intro H. rewrite last_n_length, firstn_length. lia. Qed.
