(* The oracle's sets are sound for every model, not only for the tracing one: whatever the layers
   compute, a token outside the set cannot change the value. *)
From Coq Require Import List Arith Lia.
From Orthros Require Import Lists Model Layers TwoStreams Chunks Window FullWindow.
From Orthros Require Import DepSets Oracle OracleExact OracleTheorems.
Import ListNotations.

Section OracleSound.
  Context {Token X E Q A Logit : Type}.
  Implicit Types (L : Layer X E) (ls : list (Layer X E)).

  (* A layer is of a kind when it is attention with that window, full attention, or for the
     recurrent kind any layer at all: such a layer may read everything up to its position. *)
  Definition of_kind (k : Kind) L : Prop :=
    match k with
    | Windowed w => exists a : Attention X E Q A, L = attention_layer a /\ window a = w
    | Full => exists a : Attention X E Q A, L = full_layer a
    | Linear _ => True
    end.

  Lemma kinds_length kinds ls : Forall2 of_kind kinds ls -> length kinds = length ls.
  Proof. induction 1; simpl; auto. Qed.

  Lemma firstn_ext (xs ys : list X) t :
    length xs = length ys -> (forall j, 1 <= j <= t -> lookup xs j = lookup ys j) ->
    firstn t xs = firstn t ys.
  Proof.
    intros Hl H. apply list_ext. intro i. rewrite !nth_error_firstn.
    destruct (Nat.ltb_spec i t); auto. apply (H (S i)). lia.
  Qed.

  (* Any layer's row and entry at t are decided by the rows 1 .. t. *)
  Lemma causal_row L xs ys t :
    length xs = length ys -> (forall j, 1 <= j <= t -> lookup xs j = lookup ys j) ->
    lookup (base_step L [] xs) t = lookup (base_step L [] ys) t.
  Proof.
    intros Hl H. rewrite <- (firstn_skipn t xs), <- (firstn_skipn t ys), (firstn_ext xs ys t Hl H).
    rewrite !base_step_app. destruct (Nat.le_gt_cases t (length ys)) as [Ht|Ht].
    - rewrite !lookup_app_left; auto; rewrite base_step_length, firstn_length; lia.
    - now rewrite (skipn_all2 xs), (skipn_all2 ys) by lia.
  Qed.

  Lemma causal_entry L xs ys t :
    length xs = length ys -> (forall j, 1 <= j <= t -> lookup xs j = lookup ys j) ->
    lookup (fill L [] xs) t = lookup (fill L [] ys) t.
  Proof.
    intros Hl H. rewrite <- (firstn_skipn t xs), <- (firstn_skipn t ys), (firstn_ext xs ys t Hl H).
    rewrite !fill_app. destruct (Nat.le_gt_cases t (length ys)) as [Ht|Ht].
    - destruct (fill_extends L (fill L [] (firstn t ys)) (skipn t xs)) as [u ->].
      destruct (fill_extends L (fill L [] (firstn t ys)) (skipn t ys)) as [v ->].
      rewrite !lookup_app_left; auto; rewrite fill_length, firstn_length; simpl; lia.
    - now rewrite (skipn_all2 xs), (skipn_all2 ys) by lia.
  Qed.

  Lemma row_of_kind k L xs ys t :
    of_kind k L -> length xs = length ys ->
    (forall j, low k t <= j <= t -> lookup xs j = lookup ys j) ->
    lookup (base_step L [] xs) t = lookup (base_step L [] ys) t.
  Proof.
    destruct k as [w| |taps]; cbn [of_kind low]; intros Hk Hl H; [|now apply causal_row..].
    destruct Hk as (a & -> & Hw). apply base_step_local; auto. intros j Hj. rewrite Hw in Hj.
    destruct (Nat.eq_dec j 0) as [->|]; [reflexivity|]. apply H. lia.
  Qed.

  Lemma rows_of_kinds kinds ls xs ys t copies copies' :
    Forall2 of_kind kinds ls -> length xs = length ys ->
    (forall j, first_reached kinds t <= j <= t -> lookup xs j = lookup ys j) ->
    lookup (base_rows (run ls (map (fun _ => []) ls) xs copies)) t =
    lookup (base_rows (run ls (map (fun _ => []) ls) ys copies')) t.
  Proof.
    intro Hk. revert xs ys copies copies'.
    induction Hk as [|k L kinds ls Hk _ IH]; intros xs ys copies copies' Hl H; simpl in *.
    - apply H; lia.
    - apply IH; [now rewrite !base_step_length|]. intros j Hj. apply (row_of_kind k); auto.
      intros i Hi. apply H. assert (low k (first_reached kinds t) <= low k j); [|lia].
      destruct k; cbn [low]; lia.
  Qed.

  (* What a layer of kind k reads of its own input rows to write the entry at t. *)
  Definition entry_low (k : Kind) (t : nat) : nat := match k with Linear _ => 1 | _ => t end.

  Lemma entry_of_kind k L xs ys t :
    of_kind k L -> length xs = length ys ->
    (forall j, entry_low k t <= j <= t -> lookup xs j = lookup ys j) ->
    lookup (fill L [] xs) t = lookup (fill L [] ys) t.
  Proof.
    destruct k as [w| |taps]; cbn [of_kind entry_low]; intros Hk Hl H; [| |now apply causal_entry].
    - destruct Hk as (a & -> & _). rewrite !fill_attention. simpl.
      rewrite !lookup_at_positions, H by lia. reflexivity.
    - destruct Hk as (a & ->). rewrite !fill_full, !fill_attention. simpl.
      rewrite !lookup_at_positions, H by lia. reflexivity.
  Qed.

  Lemma entries_of_kinds kinds ls xs ys t l k copies copies' :
    Forall2 of_kind kinds ls -> length xs = length ys -> nth_error kinds l = Some k ->
    (forall j, first_reached (firstn l kinds) (entry_low k t) <= j <= t ->
               lookup xs j = lookup ys j) ->
    lookup (nth l (new_caches (run ls (map (fun _ => []) ls) xs copies)) []) t =
    lookup (nth l (new_caches (run ls (map (fun _ => []) ls) ys copies')) []) t.
  Proof.
    intro Hk. revert l xs ys copies copies'.
    induction Hk as [|k0 L kinds ls Hk0 Hks IH]; intros [|l] xs ys copies copies' Hl Hn H;
      try discriminate.
    - simpl in Hn. inversion Hn; subst. apply (entry_of_kind k); auto.
    - cbn [map run new_caches nth]. apply IH; auto; [now rewrite !base_step_length|].
      intros j Hj. apply (row_of_kind k0); auto. intros i Hi. apply H.
      cbn [firstn first_reached].
      assert (low k0 (first_reached (firstn l kinds) (entry_low k t)) <= low k0 j); [|lia].
      destruct k0; cbn [low]; lia.
  Qed.

  Variable M : Model Token X E Logit.
  Variable kinds : list Kind.
  Hypothesis kinds_fit : Forall2 of_kind kinds (layers M).

  (* A cache entry or state, in any model whose layers are of these kinds, does not change with a
     token that is not in the oracle's set for it. *)
  Theorem tokens_outside_the_set_change_no_entry toks toks' outs outs' dual chunks asked l t m :
    length toks = length toks' -> length toks = total chunks ->
    memory_at dual kinds chunks asked l t = Some m ->
    (forall j, In j (on_base (depends m)) -> lookup toks j = lookup toks' j) ->
    lookup (nth l (caches (after (forward M (start M) toks outs))) []) t =
    lookup (nth l (caches (after (forward M (start M) toks' outs'))) []) t.
  Proof.
    intros Hl Ht Hm H. destruct (nth_error kinds l) as [k|] eqn:Hk.
    - assert (B : 1 <= t <= total chunks).
      { unfold memory_at in Hm. rewrite oracle_answers in Hm. cbn [fst] in Hm.
        rewrite (nth_memories _ _ _ _ k Hk) in Hm. apply lookup_bound in Hm.
        now rewrite map_length, seq_length in Hm. }
      rewrite (memory_at_is _ _ _ _ _ _ _ Hk B) in Hm. inversion Hm; subst m. clear Hm.
      unfold forward, start. cbn [after caches].
      apply (entries_of_kinds kinds _ _ _ _ _ k); auto; [now rewrite !map_length|].
      intros j Hj. rewrite !lookup_map. f_equal. apply H.
      pose proof (first_reached_reaches (firstn l kinds)) as [Hf Hmono].
      destruct k; cbn [remembered depends entry_low] in *; unfold spans; apply in_interval;
        specialize (Hf 1); lia.
    - assert (N : forall toks outs,
        nth l (caches (after (forward M (start M) toks outs))) [] = []).
      { intros u o. apply nth_overflow. apply nth_error_None in Hk.
        destruct (forward_well_formed M (start M) u o (start_well_formed M)) as [-> _].
        now rewrite <- (kinds_length _ _ kinds_fit). }
      now rewrite !N.
  Qed.

  (* Nor does a single stream's last row at t, whose head is its logits. *)
  Theorem tokens_outside_the_set_change_no_row toks toks' outs outs' t :
    length toks = length toks' ->
    (forall j, In j (on_base (answer false kinds t)) -> lookup toks j = lookup toks' j) ->
    lookup (hidden (forward M (start M) toks outs)) t =
    lookup (hidden (forward M (start M) toks' outs')) t.
  Proof.
    intros Hl H. unfold forward, start. cbn [hidden caches].
    apply (rows_of_kinds kinds); auto; [now rewrite !map_length|].
    intros j Hj. rewrite !lookup_map. f_equal. apply H. cbn [answer]. now apply in_interval.
  Qed.

  (* Nor do an output's logits at t with a token after t. *)
  Theorem tokens_after_t_change_no_logits toks toks' outs outs' t y y' :
    firstn t toks = firstn t toks' ->
    In (t, y) (logits (forward M (start M) toks outs)) ->
    In (t, y') (logits (forward M (start M) toks' outs')) -> y = y'.
  Proof.
    assert (G : forall u o z, In (t, z) (logits (forward M (start M) u o)) ->
      logit_at M (after (forward M (start M) (firstn t u) [])) t = [(t, z)]).
    { intros u o z Hz. rewrite forward_logits in Hz. apply in_flat_map in Hz.
      destruct Hz as (v & _ & Hz). apply in_logit_at in Hz. rewrite <- Hz. symmetry.
      assert (Ht : t <= length u).
      { unfold logit_at in Hz. cbn [after forward tokens start app] in Hz.
        destruct (lookup u t) eqn:Eu; [|discriminate]. apply lookup_bound in Eu. lia. }
      rewrite <- (firstn_skipn t u) at 1.
      rewrite <- (two_chunks_equal_one M (start M) (firstn t u) (skipn t u) [] [] o).
      apply logit_at_grown; [apply forward_well_formed, start_well_formed|].
      cbn [after forward tokens start app]. rewrite firstn_length. lia. }
    intros Hf Hy Hy'. apply G in Hy, Hy'. rewrite Hf, Hy' in Hy. now inversion Hy.
  Qed.
End OracleSound.
