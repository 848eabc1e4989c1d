(* Decode and rollback: the serving side of Chunks. *)
From Coq Require Import List Arith Lia.
From Orthros Require Import Lists Model TwoStreams Chunks.
Import ListNotations.

Section Decode.
  Context {Token X E Logit : Type}.
  Implicit Types (M : Model Token X E Logit) (s : Sequence Token E).

  (* Decode of given tokens after n: one token a step, each asking for its own position. *)
  Fixpoint decode_steps (n : nat) (answer : list Token) : list (list Token * list nat) :=
    match answer with
    | [] => []
    | a :: rest => ([a], [S n]) :: decode_steps (S n) rest
    end.

  Lemma decode_steps_chunks n answer :
    concat (map fst (decode_steps n answer)) = answer /\
    concat (map snd (decode_steps n answer)) = seq (S n) (length answer) /\
    in_time n (decode_steps n answer).
  Proof.
    revert n. induction answer as [|a answer IH]; intro n; simpl; auto.
    destruct (IH (S n)) as (-> & -> & H). rewrite Nat.add_1_r. repeat split; auto.
    intros t [<-|[]]; lia.
  Qed.

  (* A prefill of the prompt and one decode step for each answer token give, all together, the
     logits of one forward over prompt and answer with outputs at the predicting positions: serving
     computes what fine-tuning trained. *)
  Theorem prefill_and_decode_equal_fine_tuning M prompt answer :
    let n := length prompt in
    snd (run_schedule M (start M) ((prompt, [n]) :: decode_steps n answer)) =
    logits (forward M (start M) (prompt ++ answer) (seq n (S (length answer)))).
  Proof.
    destruct (decode_steps_chunks (length prompt) answer) as (Hc & Ho & Hi). cbv zeta.
    rewrite any_partition_gives_same_logits.
    - simpl map. simpl concat. rewrite Hc, Ho. reflexivity.
    - apply start_well_formed.
    - simpl. split; [intros t [<-|[]]; lia|exact Hi].
  Qed.

  (* Reading a prompt token by token, asking for nothing, leaves one shot's caches. *)
  Theorem token_by_token_leaves_same_caches M s tokens outs :
    tokens <> [] ->
    fst (run_schedule M s (map (fun a => ([a], [])) tokens)) = after (forward M s tokens outs).
  Proof.
    intro H. rewrite (any_partition_leaves_same_caches M s _ outs).
    - do 2 f_equal. clear H. induction tokens; simpl; f_equal; auto.
    - destruct tokens; [contradiction|discriminate].
  Qed.

  (* Rollback to n tokens: cut the tokens and every cache. (For a recurrent layer that means going
     back to a kept state.) *)
  Definition truncate (n : nat) s : Sequence Token E :=
    {| tokens := firstn n (tokens s); caches := map (firstn n) (caches s) |}.

  Lemma truncate_run (ls : list (Layer X E)) cs (xs : list X) n :
    length cs = length ls -> Forall (fun c => length c = n) cs ->
    map (firstn n) (new_caches (run ls cs xs [])) = cs.
  Proof.
    revert cs xs. induction ls as [|L ls IH]; intros [|c cs] xs Hl Hc; try discriminate; auto.
    inversion Hc as [|? ? Hn Hc']; subst. simpl. rewrite firstn_fill, firstn_all by auto.
    f_equal. apply IH; auto.
  Qed.

  (* Truncating to the length that a sequence had restores it, whatever was read since. *)
  Theorem truncate_restores M s chunk outs :
    well_formed M s -> truncate (length (tokens s)) (after (forward M s chunk outs)) = s.
  Proof.
    intros [Hl Hc]. rewrite (caches_ignore_outputs M s chunk outs []).
    unfold truncate, forward; simpl. rewrite truncate_run; auto.
    rewrite firstn_app_left, firstn_all by auto. now destruct s.
  Qed.

  (* Truncating after n of a sequence's tokens gives the sequence of those n tokens alone. *)
  Theorem truncate_equals_reading_less M toks n outs outs' :
    n <= length toks ->
    truncate n (after (forward M (start M) toks outs)) =
    after (forward M (start M) (firstn n toks) outs').
  Proof.
    intro H. rewrite <- (firstn_skipn n toks) at 1.
    rewrite <- (two_chunks_equal_one M (start M) (firstn n toks) (skipn n toks) outs' []).
    set (s := after (forward M (start M) (firstn n toks) outs')).
    assert (Hn : length (tokens s) = n) by (simpl; rewrite firstn_length; lia).
    rewrite <- Hn. apply truncate_restores, forward_well_formed, start_well_formed.
  Qed.

  (* Truncating to n tokens and reading the rest again restores the whole sequence. *)
  Theorem truncate_and_read_again M toks n outs outs' outs'' :
    n <= length toks ->
    let whole := after (forward M (start M) toks outs) in
    after (forward M (truncate n whole) (skipn n toks) outs') =
      after (forward M (start M) toks outs'').
  Proof.
    intro H. cbv zeta. rewrite (truncate_equals_reading_less M toks n outs []) by auto.
    rewrite (two_chunks_equal_one M (start M) _ _ [] outs' outs''). now rewrite firstn_skipn.
  Qed.

  (* A fork: whatever a first continuation did, rolling it back and reading a second one gives all
     that the second one alone would have given. *)
  Theorem fork_is_independent M s first second outs outs' :
    well_formed M s ->
    forward M (truncate (length (tokens s)) (after (forward M s first outs))) second outs' =
    forward M s second outs'.
  Proof. intro H. now rewrite truncate_restores. Qed.
End Decode.
