(* Dependency sets: strictly ascending lists of positions, one for each stream. *)
From Coq Require Import List Arith Sorted Lia.
Import ListNotations.

(* The union of two ascending lists, ascending and without repeats. *)
Fixpoint union (a : list nat) : list nat -> list nat :=
  match a with
  | [] => fun b => b
  | x :: a' =>
      fix with_x (b : list nat) : list nat :=
        match b with
        | [] => a
        | y :: b' =>
            match Nat.compare x y with
            | Lt => x :: union a' b
            | Eq => x :: union a' b'
            | Gt => y :: with_x b'
            end
        end
  end.

(* What a value depends on: embeddings of the base stream and of the output stream, by position. *)
Record Deps := { on_base : list nat; on_output : list nat }.

Definition nothing : Deps := {| on_base := []; on_output := [] |}.

Definition both (d e : Deps) : Deps := {|
  on_base := union (on_base d) (on_base e);
  on_output := union (on_output d) (on_output e)
|}.

Definition all_of (ds : list Deps) : Deps := fold_right both nothing ds.

(* The positions from lo to hi, on the base stream. *)
Definition interval (lo hi : nat) : Deps := {| on_base := seq lo (S hi - lo); on_output := [] |}.

Lemma union_nil_r a : union a [] = a.
Proof. now destruct a. Qed.

Lemma in_union a b i : In i (union a b) <-> In i a \/ In i b.
Proof.
  revert b. induction a as [|x a IHa]; [simpl; tauto|].
  induction b as [|y b IHb]; [simpl; tauto|]. simpl union.
  destruct (Nat.compare_spec x y) as [->|H|H].
  - simpl. rewrite IHa. tauto.
  - simpl. rewrite IHa. simpl. tauto.
  - simpl in IHb |- *. rewrite IHb. tauto.
Qed.

Lemma union_sorted a b :
  StronglySorted lt a -> StronglySorted lt b -> StronglySorted lt (union a b).
Proof.
  revert b. induction a as [|x a IHa]; auto.
  induction b as [|y b IHb]; auto. intros Ha Hb. simpl union.
  inversion Ha as [|? ? Ha' Hxa]; inversion Hb as [|? ? Hb' Hyb]; subst.
  rewrite Forall_forall in Hxa, Hyb.
  destruct (Nat.compare_spec x y) as [->|H|H]; constructor; auto; apply Forall_forall; intros i Hi.
  - apply in_union in Hi. destruct Hi; auto.
  - apply in_union in Hi. destruct Hi as [Hi|[<-|Hi]]; auto. specialize (Hyb _ Hi). lia.
  - change (In i (union (x :: a) b)) in Hi. apply in_union in Hi.
    destruct Hi as [[<-|Hi]|Hi]; auto. specialize (Hxa _ Hi). lia.
Qed.

(* Two ascending lists with the same members are equal: sets have one form. *)
Lemma sorted_ext a b :
  StronglySorted lt a -> StronglySorted lt b -> (forall i, In i a <-> In i b) -> a = b.
Proof.
  revert b. induction a as [|x a IH]; intros [|y b] Ha Hb H; auto.
  - exfalso. apply (H y). now left.
  - exfalso. apply (H x). now left.
  - inversion Ha as [|? ? Ha' Hxa]; inversion Hb as [|? ? Hb' Hyb]; subst.
    rewrite Forall_forall in Hxa, Hyb.
    assert (x = y).
    { destruct (proj1 (H x)) as [<-|Hx]; [now left|auto|].
      destruct (proj2 (H y)) as [<-|Hy]; [now left|auto|].
      specialize (Hxa _ Hy). specialize (Hyb _ Hx). lia. }
    subst y. f_equal. apply IH; auto. intro i. split; intro Hi.
    + destruct (proj1 (H i)) as [<-|]; [now right| |auto]. specialize (Hxa _ Hi). lia.
    + destruct (proj2 (H i)) as [<-|]; [now right| |auto]. specialize (Hyb _ Hi). lia.
Qed.

Lemma seq_sorted lo n : StronglySorted lt (seq lo n).
Proof.
  revert lo. induction n as [|n IH]; intro lo; simpl; constructor; auto.
  apply Forall_forall. intros i Hi. apply in_seq in Hi. lia.
Qed.

(* A union of base intervals, by its members. *)
Lemma in_all_of (ds : list Deps) i :
  In i (on_base (all_of ds)) <-> exists d, In d ds /\ In i (on_base d).
Proof.
  induction ds as [|d ds IH]; simpl.
  - split; [contradiction|]. now intros (d & [] & _).
  - rewrite in_union, IH. split.
    + intros [H|(e & He & H)]; eauto.
    + intros (e & [->|He] & H); eauto.
Qed.

Lemma all_of_sorted (ds : list Deps) :
  (forall d, In d ds -> StronglySorted lt (on_base d)) -> StronglySorted lt (on_base (all_of ds)).
Proof. induction ds; simpl; intro H; [constructor|]. apply union_sorted; auto. Qed.

Lemma all_of_no_output (ds : list Deps) :
  (forall d, In d ds -> on_output d = []) -> on_output (all_of ds) = [].
Proof. induction ds; simpl; intro H; auto. rewrite H, IHds; auto. Qed.

(* A set is the interval [lo, hi] when it has its members, ascending, and no output leaf. *)
Lemma is_interval d lo hi :
  StronglySorted lt (on_base d) -> on_output d = [] ->
  (forall i, In i (on_base d) <-> lo <= i <= hi) -> d = interval lo hi.
Proof.
  destruct d as [b o]. simpl. intros Hs -> H. unfold interval. f_equal.
  apply sorted_ext; auto using seq_sorted. intro i. rewrite H, in_seq. lia.
Qed.
