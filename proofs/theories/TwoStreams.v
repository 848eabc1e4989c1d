(* Two streams: the base stream and its caches never depend on the output stream. *)
From Coq Require Import List Arith Permutation.
From Orthros Require Import Lists Model.
Import ListNotations.

Section TwoStreams.
  Context {Token X E Logit : Type}.
  Implicit Types (M : Model Token X E Logit) (s : Sequence Token E).

  Lemma run_ignores_copies (ls : list (Layer X E)) cs xs copies copies' :
    new_caches (run ls cs xs copies) = new_caches (run ls cs xs copies') /\
    base_rows (run ls cs xs copies) = base_rows (run ls cs xs copies').
  Proof.
    revert cs xs copies copies'.
    induction ls as [|L ls IH]; intros [|c cs] xs copies copies'; simpl; auto.
    destruct (IH cs (base_step L c xs) (output_step L c xs copies) (output_step L c xs copies'))
      as [-> ->]. auto.
  Qed.

  (* Every copy is computed as if it were alone, over the caches that the run leaves. *)
  Lemma run_copies (ls : list (Layer X E)) cs xs copies :
    output_rows (run ls cs xs copies) =
    map (fun '(t, x) => (t, copy_through ls (new_caches (run ls cs xs copies)) t x)) copies.
  Proof.
    revert cs xs copies.
    induction ls as [|L ls IH]; intros [|c cs] xs copies; simpl;
      try (rewrite <- (map_id copies) at 1; apply map_ext; now intros [t x]).
    rewrite IH. set (cs' := new_caches _). clearbody cs'. unfold output_step.
    rewrite map_map. apply map_ext. now intros [t x].
  Qed.

  (* The logits of a forward are those of each output position alone, in the order asked for. *)
  Lemma forward_logits M s chunk outs :
    logits (forward M s chunk outs) = flat_map (logit_at M (after (forward M s chunk outs))) outs.
  Proof.
    unfold forward; simpl. rewrite run_copies, map_map. unfold logit_at; simpl.
    set (cs := new_caches _). clearbody cs. unfold copies_at.
    induction outs as [|t outs IH]; simpl; auto.
    rewrite map_app, IH. f_equal. now destruct (lookup (tokens s ++ chunk) t).
  Qed.

  (* Base caches are equal for any two output sets. *)
  Theorem caches_ignore_outputs M s chunk outs outs' :
    after (forward M s chunk outs) = after (forward M s chunk outs').
  Proof. unfold forward; simpl. f_equal. apply run_ignores_copies. Qed.

  (* The base rows after the last layer are equal for any two output sets. *)
  Theorem base_rows_ignore_outputs M s chunk outs outs' :
    hidden (forward M s chunk outs) = hidden (forward M s chunk outs').
  Proof. apply run_ignores_copies. Qed.

  (* Computing no output at all leaves the same caches as computing every output. *)
  Theorem empty_output_set_gives_same_caches M s chunk outs :
    after (forward M s chunk []) = after (forward M s chunk outs).
  Proof. apply caches_ignore_outputs. Qed.

  Lemma in_logit_at M s u t y : In (t, y) (logit_at M s u) -> logit_at M s t = [(t, y)].
  Proof.
    unfold logit_at at 1. destruct (lookup (tokens s) u) eqn:Eu; [|contradiction].
    intros [H|[]]. inversion H; subst. unfold logit_at. now rewrite Eu.
  Qed.

  (* At a position that two output sets share, the logits are equal. *)
  Theorem logits_equal_at_common_positions M s chunk outs outs' t y y' :
    In (t, y) (logits (forward M s chunk outs)) ->
    In (t, y') (logits (forward M s chunk outs')) -> y = y'.
  Proof.
    rewrite !forward_logits, (caches_ignore_outputs M s chunk outs' outs), !in_flat_map.
    intros (u & _ & Hu) (u' & _ & Hu').
    apply in_logit_at in Hu, Hu'. rewrite Hu in Hu'. now inversion Hu'.
  Qed.

  (* Fine-tuning's outputs are pretraining's at those positions: leaving positions out of the
     output set leaves their logits out and changes no other. *)
  Theorem fine_tuning_is_pretraining_masked M s chunk outs (keep : nat -> bool) :
    logits (forward M s chunk (filter keep outs)) =
    filter (fun ty => keep (fst ty)) (logits (forward M s chunk outs)).
  Proof.
    rewrite !forward_logits, (caches_ignore_outputs M s chunk _ outs).
    set (a := after _). clearbody a. induction outs as [|t outs IH]; simpl; auto.
    rewrite filter_app, <- IH. unfold logit_at at 2.
    destruct (keep t) eqn:Ek; simpl; [unfold logit_at at 1|];
      destruct (lookup (tokens a) t); simpl; rewrite ?Ek; auto.
  Qed.

  (* Logits come out in the order asked for, one for every position that holds a token. *)
  Theorem every_asked_position_gets_its_logits M s chunk outs :
    (forall t, In t outs -> 1 <= t <= length (tokens s ++ chunk)) ->
    map fst (logits (forward M s chunk outs)) = outs.
  Proof.
    intro H. rewrite forward_logits. simpl.
    set (cs := new_caches _). clearbody cs. revert H.
    induction outs as [|t outs IH]; simpl; intro H; auto.
    rewrite map_app, IH by auto. unfold logit_at; simpl.
    destruct (lookup_some (tokens s ++ chunk) t) as [a Ha]; auto. now rewrite Ha.
  Qed.

  (* Copies are independent: the logits of two lists of output positions, one after the other. So
     repeating a copy repeats its logits. *)
  Theorem output_lists_concatenate M s chunk outs outs' :
    logits (forward M s chunk (outs ++ outs')) =
    logits (forward M s chunk outs) ++ logits (forward M s chunk outs').
  Proof.
    rewrite !forward_logits, flat_map_app.
    now rewrite (caches_ignore_outputs M s chunk _ outs),
      (caches_ignore_outputs M s chunk outs' outs).
  Qed.

  (* Reordering the copies reorders their logits and changes none. *)
  Theorem reordering_copies_reorders_logits M s chunk outs outs' :
    Permutation outs outs' ->
    Permutation (logits (forward M s chunk outs)) (logits (forward M s chunk outs')).
  Proof.
    intro H. rewrite !forward_logits, (caches_ignore_outputs M s chunk outs' outs).
    now apply Permutation_flat_map.
  Qed.
End TwoStreams.
