(* Chunks: reading a prompt in pieces, token by token, after a rollback or from a fork, gives the
   same caches and logits as reading it at once. *)
From Coq Require Import List Arith Lia.
From Orthros Require Import Lists Model TwoStreams.
Import ListNotations.

Section Chunks.
  Context {Token X E Logit : Type}.
  Implicit Types (L : Layer X E) (ls : list (Layer X E)) (M : Model Token X E Logit).
  Implicit Types (s : Sequence Token E).

  (* A row reads only entries up to its own position, so a later chunk cannot change it. *)
  Lemma base_step_app L c xs ys :
    base_step L c (xs ++ ys) = base_step L c xs ++ base_step L (fill L c xs) ys.
  Proof.
    unfold base_step. rewrite at_positions_app, fill_app, fill_length. f_equal.
    apply at_positions_ext. intros i x Hi. f_equal. apply firstn_fill. rewrite fill_length. lia.
  Qed.

  Lemma run_app ls cs xs ys :
    let first := run ls cs xs [] in
    let second := run ls (new_caches first) ys [] in
    new_caches (run ls cs (xs ++ ys) []) = new_caches second /\
    base_rows (run ls cs (xs ++ ys) []) = base_rows first ++ base_rows second.
  Proof.
    revert cs xs ys. induction ls as [|L ls IH]; intros [|c cs] xs ys; simpl; auto.
    rewrite base_step_app, fill_app.
    destruct (IH cs (base_step L c xs) (base_step L (fill L c xs) ys)) as [-> ->]. auto.
  Qed.

  Lemma start_well_formed M : well_formed M (start M).
  Proof.
    unfold well_formed, start; simpl. rewrite map_length. split; auto.
    induction (layers M); simpl; auto.
  Qed.

  Lemma run_well_formed ls cs xs copies n :
    length cs = length ls -> Forall (fun c => length c = n) cs ->
    length (new_caches (run ls cs xs copies)) = length ls /\
    Forall (fun c => length c = n + length xs) (new_caches (run ls cs xs copies)).
  Proof.
    revert cs xs copies. induction ls as [|L ls IH]; intros [|c cs] xs copies; simpl; intros Hl Hc;
      try discriminate; auto.
    inversion Hc; subst.
    destruct (IH cs (base_step L c xs) (output_step L c xs copies)) as [H1' H2']; auto.
    rewrite base_step_length in H2'. rewrite H1'. split; auto. constructor; auto. apply fill_length.
  Qed.

  Lemma forward_well_formed M s chunk outs :
    well_formed M s -> well_formed M (after (forward M s chunk outs)).
  Proof.
    intros [Hl Hc]. unfold well_formed, forward; simpl. rewrite app_length.
    rewrite <- (map_length (embed M) chunk). now apply run_well_formed.
  Qed.

  (* Two chunks, one after the other, leave the caches that both at once leave, whatever outputs are
     asked for on the way. *)
  Theorem two_chunks_equal_one M s xs ys outs1 outs2 outs :
    after (forward M (after (forward M s xs outs1)) ys outs2) =
    after (forward M s (xs ++ ys) outs).
  Proof.
    rewrite (caches_ignore_outputs M s xs outs1 []), (caches_ignore_outputs M _ ys outs2 []),
      (caches_ignore_outputs M s (xs ++ ys) outs []).
    unfold forward; simpl. rewrite app_assoc, map_app. f_equal.
    symmetry. apply (run_app (layers M) (caches s) (map (embed M) xs) (map (embed M) ys)).
  Qed.

  (* Tokens read later change no base row at or before an earlier position. *)
  Theorem later_tokens_change_no_earlier_row M s xs ys outs1 outs2 outs :
    hidden (forward M s (xs ++ ys) outs) =
    hidden (forward M s xs outs1) ++ hidden (forward M (after (forward M s xs outs1)) ys outs2).
  Proof.
    rewrite (caches_ignore_outputs M s xs outs1 []), (base_rows_ignore_outputs M _ ys outs2 []),
      (base_rows_ignore_outputs M s xs outs1 []),
      (base_rows_ignore_outputs M s (xs ++ ys) outs []).
    unfold forward; simpl. rewrite map_app.
    apply (run_app (layers M) (caches s) (map (embed M) xs) (map (embed M) ys)).
  Qed.

  (* The logits at a position stay what they were when the sequence grows past it. *)
  Lemma copy_through_grown ls cs xs t x :
    length cs = length ls -> Forall (fun c => t <= length c) cs ->
    copy_through ls (new_caches (run ls cs xs [])) t x = copy_through ls cs t x.
  Proof.
    revert cs xs x. induction ls as [|L ls IH]; intros [|c cs] xs x Hl Hc; simpl; auto.
    inversion Hc; subst. rewrite firstn_fill by auto. apply IH; auto.
  Qed.

  Lemma logit_at_grown M s chunk outs t :
    well_formed M s -> t <= length (tokens s) ->
    logit_at M (after (forward M s chunk outs)) t = logit_at M s t.
  Proof.
    intros [Hl Hc] Ht. rewrite (caches_ignore_outputs M s chunk outs []).
    unfold logit_at; simpl. rewrite lookup_app_left by auto.
    destruct (lookup (tokens s) t) eqn:E1; auto. do 3 f_equal. apply copy_through_grown; auto.
    eapply Forall_impl; [|exact Hc]. simpl; intros; lia.
  Qed.

  (* Replaying a copy at a past position against a longer cache gives its original logits. *)
  Theorem replayed_copy_gives_original_logits M s chunk outs replays :
    well_formed M s -> (forall t, In t replays -> t <= length (tokens s)) ->
    logits (forward M s chunk (outs ++ replays)) =
    logits (forward M s chunk outs) ++ logits (forward M s [] replays).
  Proof.
    intros Hw Hr. rewrite output_lists_concatenate. f_equal. rewrite !forward_logits.
    apply flat_map_ext_in'. intros t Ht. rewrite !logit_at_grown; auto.
  Qed.

  (* A schedule is a list of chunks, each with the output positions asked of it. *)
  Fixpoint run_schedule M s (schedule : list (list Token * list nat)) :
    Sequence Token E * list (nat * Logit) :=
    match schedule with
    | [] => (s, [])
    | (chunk, outs) :: rest =>
        let f := forward M s chunk outs in
        let r := run_schedule M (after f) rest in
        (fst r, logits f ++ snd r)
    end.

  (* Every output position that a schedule asks for holds a token by then. *)
  Fixpoint in_time (n : nat) (schedule : list (list Token * list nat)) : Prop :=
    match schedule with
    | [] => True
    | (chunk, outs) :: rest =>
        (forall t, In t outs -> t <= n + length chunk) /\ in_time (n + length chunk) rest
    end.

  (* Any partition of a prompt leaves the caches that one shot leaves. *)
  Theorem any_partition_leaves_same_caches M s schedule outs :
    schedule <> [] ->
    fst (run_schedule M s schedule) = after (forward M s (concat (map fst schedule)) outs).
  Proof.
    revert s. induction schedule as [|[chunk o] rest IH]; intros s H; [contradiction|].
    destruct rest as [|p rest].
    - simpl. rewrite app_nil_r. apply caches_ignore_outputs.
    - change (fst (run_schedule M (after (forward M s chunk o)) (p :: rest)) =
              after (forward M s (chunk ++ concat (map fst (p :: rest))) outs)).
      rewrite IH by discriminate. apply two_chunks_equal_one.
  Qed.

  (* Any partition of a prompt gives the logits that one shot gives at the same output positions.
     Singleton chunks with their own position as output are decode. *)
  Theorem any_partition_gives_same_logits M s schedule :
    well_formed M s -> in_time (length (tokens s)) schedule ->
    snd (run_schedule M s schedule) =
    logits (forward M s (concat (map fst schedule)) (concat (map snd schedule))).
  Proof.
    revert s. induction schedule as [|[chunk outs] rest IH]; intros s Hw;
      cbn [run_schedule in_time map concat fst snd].
    - intros _. now rewrite forward_logits.
    - intros [Hin Hrest].
      rewrite IH; [|now apply forward_well_formed|simpl; now rewrite app_length].
      rewrite output_lists_concatenate, !forward_logits.
      rewrite <- (two_chunks_equal_one M s chunk _ outs [] outs).
      rewrite <- (two_chunks_equal_one M s chunk (concat (map fst rest)) outs
                    (concat (map snd rest)) (concat (map snd rest))).
      f_equal. apply flat_map_ext_in'. intros t Ht.
      symmetry. apply logit_at_grown; [now apply forward_well_formed|].
      simpl. rewrite app_length. auto.
  Qed.
End Chunks.
