(* Lists read by 1-based position, and the few facts about lists that the theories use. *)
From Coq Require Import List Arith Lia.
Import ListNotations.

(* The element at 1-based position t; None when t is 0 or past the end. *)
Definition lookup {A} (xs : list A) (t : nat) : option A :=
  match t with 0 => None | S i => nth_error xs i end.

(* f applied to every element together with its position; the first element stands at t. *)
Fixpoint at_positions {A B} (f : nat -> A -> B) (t : nat) (xs : list A) : list B :=
  match xs with
  | [] => []
  | x :: rest => f t x :: at_positions f (S t) rest
  end.

(* The last n elements (all of them when there are fewer). *)
Definition last_n {A} (n : nat) (xs : list A) : list A := skipn (length xs - n) xs.

Section Facts.
  Context {A B : Type}.

  Lemma at_positions_length (f : nat -> A -> B) t xs : length (at_positions f t xs) = length xs.
  Proof. revert t; induction xs; simpl; auto. Qed.

  Lemma at_positions_app (f : nat -> A -> B) t xs ys :
    at_positions f t (xs ++ ys) = at_positions f t xs ++ at_positions f (t + length xs) ys.
  Proof.
    revert t; induction xs; simpl; intros; [f_equal; lia|].
    rewrite IHxs. do 3 f_equal. lia.
  Qed.

  Lemma at_positions_ext (f g : nat -> A -> B) t xs :
    (forall i x, t <= i < t + length xs -> f i x = g i x) ->
    at_positions f t xs = at_positions g t xs.
  Proof.
    revert t; induction xs; simpl; intros t H; auto.
    rewrite H by lia. f_equal. apply IHxs. intros; apply H; lia.
  Qed.

  Lemma nth_error_at_positions (f : nat -> A -> B) t xs i :
    nth_error (at_positions f t xs) i = option_map (f (t + i)) (nth_error xs i).
  Proof.
    revert t i; induction xs; intros t [|i]; simpl; auto.
    - now rewrite Nat.add_0_r.
    - rewrite IHxs. do 2 f_equal. lia.
  Qed.

  Lemma lookup_at_positions (f : nat -> A -> B) xs t :
    lookup (at_positions f 1 xs) t = option_map (f t) (lookup xs t).
  Proof. destruct t; auto. apply nth_error_at_positions. Qed.

  Lemma at_positions_const (f : A -> B) t xs : at_positions (fun _ x => f x) t xs = map f xs.
  Proof. revert t; induction xs; simpl; intros; f_equal; auto. Qed.

  (* Two lists with the same element at every index are equal. *)
  Lemma list_ext (xs ys : list A) : (forall i, nth_error xs i = nth_error ys i) -> xs = ys.
  Proof.
    revert ys; induction xs; intros [|y ys] H; auto.
    - discriminate (H 0).
    - discriminate (H 0).
    - pose proof (H 0) as H0. injection H0 as ->. f_equal.
      apply IHxs. intro i. exact (H (S i)).
  Qed.

  Lemma nth_error_skipn n (xs : list A) i : nth_error (skipn n xs) i = nth_error xs (n + i).
  Proof. revert xs; induction n; intros [|x xs]; simpl; auto. now destruct i. Qed.

  Lemma nth_error_firstn n (xs : list A) i :
    nth_error (firstn n xs) i = if i <? n then nth_error xs i else None.
  Proof.
    revert xs i; induction n; intros [|x xs] [|i]; simpl; auto.
    - now destruct (S i <? S n).
    - apply IHn.
  Qed.

  Lemma skipn_skipn' m n (xs : list A) : skipn m (skipn n xs) = skipn (n + m) xs.
  Proof. revert xs; induction n; intros [|x xs]; simpl; auto. now destruct m. Qed.

  Lemma firstn_app_left n (xs ys : list A) : n <= length xs -> firstn n (xs ++ ys) = firstn n xs.
  Proof.
    intro. rewrite firstn_app. replace (n - length xs) with 0 by lia.
    simpl. now rewrite app_nil_r.
  Qed.

  Lemma last_n_all n (xs : list A) : length xs <= n -> last_n n xs = xs.
  Proof. intro. unfold last_n. now replace (length xs - n) with 0 by lia. Qed.

  Lemma last_n_length n (xs : list A) : length (last_n n xs) = Nat.min n (length xs).
  Proof. unfold last_n. rewrite skipn_length. lia. Qed.

  (* The last n elements of a list do not change when more is put in front. *)
  Lemma last_n_app n (xs ys : list A) : n <= length ys -> last_n n (xs ++ ys) = last_n n ys.
  Proof.
    intro. unfold last_n. rewrite app_length, skipn_app, skipn_all2 by lia.
    simpl. f_equal. lia.
  Qed.

  (* The last w of the first t elements are decided by the positions t-w+1 .. t. *)
  Lemma last_n_firstn_ext w t (xs ys : list A) :
    length xs = length ys ->
    (forall j, t - w < j <= t -> lookup xs j = lookup ys j) ->
    t <= length xs ->
    last_n w (firstn t xs) = last_n w (firstn t ys).
  Proof.
    intros Hl H Ht. unfold last_n. rewrite !firstn_length, <- Hl.
    replace (Nat.min t (length xs)) with t by lia.
    apply list_ext. intro i. rewrite !nth_error_skipn, !nth_error_firstn.
    destruct (Nat.ltb_spec (t - w + i) t); auto.
    apply (H (S (t - w + i))). lia.
  Qed.

  Lemma lookup_some (xs : list A) t : 1 <= t <= length xs -> exists x, lookup xs t = Some x.
  Proof.
    intro H. destruct t; [lia|]. simpl. destruct (nth_error xs t) eqn:E; eauto.
    apply nth_error_None in E. lia.
  Qed.

  Lemma lookup_bound (xs : list A) t x : lookup xs t = Some x -> 1 <= t <= length xs.
  Proof.
    destruct t; simpl; [discriminate|]. intro H.
    assert (t < length xs) by (apply nth_error_Some; congruence). lia.
  Qed.

  Lemma lookup_none (xs : list A) t : lookup xs t = None -> t = 0 \/ length xs < t.
  Proof. destruct t; simpl; auto. intro H. apply nth_error_None in H. lia. Qed.

  Lemma lookup_app_left (xs ys : list A) t : t <= length xs -> lookup (xs ++ ys) t = lookup xs t.
  Proof. destruct t; simpl; auto. intro. apply nth_error_app1. lia. Qed.
End Facts.

(* flat_map of two functions that agree on the list. *)
Lemma flat_map_ext_in' {A B} (f g : A -> list B) xs :
  (forall x, In x xs -> f x = g x) -> flat_map f xs = flat_map g xs.
Proof. induction xs; simpl; intro H; auto. rewrite H, IHxs; auto. Qed.

Lemma lookup_map {A B} (f : A -> B) xs t : lookup (map f xs) t = option_map f (lookup xs t).
Proof. destruct t; simpl; auto. apply nth_error_map. Qed.
