(* The oracle's answers, in closed form, for every shape and every schedule. *)
From Coq Require Import List Arith Bool Lia.
From Orthros Require Import Lists Model Layers TwoStreams Chunks Window FullWindow.
From Orthros Require Import DepSets Oracle OracleExact.
Import ListNotations.

Definition total (chunks : list nat) : nat := fold_right Nat.add 0 chunks.

(* The output positions asked for, in the order in which a schedule answers them. *)
Fixpoint answered (n : nat) (chunks outs : list nat) : list nat :=
  match chunks with
  | [] => []
  | m :: rest => filter (fun t => (n <? t) && (t <=? n + m)) outs ++ answered (n + m) rest outs
  end.

Lemma in_answered n chunks outs t :
  In t (answered n chunks outs) <-> In t outs /\ n < t <= n + total chunks.
Proof.
  revert n. induction chunks as [|m rest IH]; intro n.
  { simpl. split; [contradiction|]. intros [_ H]. lia. }
  change (total (m :: rest)) with (m + total rest). cbn [answered].
  rewrite in_app_iff, filter_In, andb_true_iff, Nat.ltb_lt, Nat.leb_le, IH. split.
  - intros [[H Ht]|[H Ht]]; split; auto; lia.
  - intros [H Ht]. destruct (Nat.le_gt_cases t (n + m)); [left|right]; split; auto; lia.
Qed.

Definition answer (dual : bool) (kinds : list Kind) (t : nat) : Deps :=
  if dual then output_set (length kinds) t else interval (first_reached kinds t) t.

Section Schedule.
  Variable kinds : list Kind.
  Let M := tracing_model kinds.

  (* The sequence after the first n tokens in one shot. *)
  Let whole (n : nat) := after (forward M (start M) (seq 1 n) []).

  Lemma whole_zero : whole 0 = start M.
  Proof.
    unfold whole, forward, start. cbn [after seq tokens caches app map copies_at flat_map]. f_equal.
    unfold M. generalize (layers (tracing_model kinds)).
    induction l as [|L ls IH]; simpl; f_equal; auto.
  Qed.

  Lemma whole_tokens n : tokens (whole n) = seq 1 n.
  Proof. reflexivity. Qed.

  Lemma whole_next n m outs : after (forward M (whole n) (seq (S n) m) outs) = whole (n + m).
  Proof.
    unfold whole. rewrite (two_chunks_equal_one M (start M) (seq 1 n) (seq (S n) m) [] outs []).
    now rewrite seq_app.
  Qed.

  Lemma one_shot n copies :
    let r := run (layers M) (caches (start M)) (map (embed M) (seq 1 n)) copies in
    new_caches r = memories kinds (fun t => t) n /\ base_rows r = rows (first_reached kinds) n.
  Proof.
    cbv zeta. unfold start. cbn [caches M tracing_model layers embed]. rewrite map_map.
    rewrite embedded_tokens. apply run_rows, identity_reaches.
  Qed.

  Lemma whole_caches n : caches (whole n) = memories kinds (fun t => t) n.
  Proof. apply one_shot. Qed.

  Lemma copy_through_memories ks f n t x :
    reaches f -> 1 <= t <= n -> (x = output_set 0 t \/ x = output_set 1 t) ->
    copy_through (map tracing_layer ks) (memories ks f n) t x =
    match ks with [] => x | _ => output_set 1 t end.
  Proof.
    intros Hf Ht. revert f x Hf. induction ks as [|k ks IH]; intros f x Hf Hx; auto.
    cbn [map memories copy_through]. rewrite output_row_set by auto.
    rewrite IH by (auto using low_reaches). now destruct ks.
  Qed.

  Lemma dual_logit n t : 1 <= t <= n -> logit_at M (whole n) t = [(t, answer true kinds t)].
  Proof.
    intro Ht. unfold logit_at. rewrite whole_tokens, whole_caches.
    replace (lookup (seq 1 n) t) with (Some t).
    - unfold M. cbn [tracing_model head layers embed_copy answer]. do 2 f_equal.
      change {| on_base := []; on_output := [t] |} with (output_set 0 t).
      rewrite copy_through_memories; auto using identity_reaches.
      destruct kinds; reflexivity.
    - destruct t; [lia|]. simpl. rewrite (nth_error_nth' _ 0) by (rewrite seq_length; lia).
      now rewrite seq_nth by lia.
  Qed.

  Lemma single_row n m t outs :
    n < t <= n + m ->
    lookup (hidden (forward M (whole n) (seq (S n) m) outs)) (t - n) = Some (answer false kinds t).
  Proof.
    intro Ht. set (f := forward M (whole n) (seq (S n) m) outs).
    assert (E : rows (first_reached kinds) (n + m) = rows (first_reached kinds) n ++ hidden f).
    { destruct (one_shot (n + m) []) as [_ <-]. destruct (one_shot n []) as [_ <-].
      pose proof (later_tokens_change_no_earlier_row M (start M) (seq 1 n) (seq (S n) m) [] outs [])
        as H. rewrite <- seq_app in H. exact H. }
    assert (L : length (rows (first_reached kinds) n) = n)
      by (unfold rows; now rewrite map_length, seq_length).
    assert (G : nth_error (rows (first_reached kinds) (n + m)) (t - 1) =
      Some (answer false kinds t)).
    { unfold rows. rewrite nth_error_map, (nth_error_nth' _ 0) by (rewrite seq_length; lia).
      rewrite seq_nth by lia. simpl. unfold spans. do 2 f_equal; [f_equal|]; lia. }
    rewrite E, nth_error_app2, L in G by lia.
    destruct (t - n) as [|i] eqn:Ei; [lia|]. cbn [lookup]. rewrite <- G. f_equal. lia.
  Qed.

  Lemma trace_answers dual n chunks outs :
    let r := trace dual kinds (whole n) chunks outs in
    fst r = whole (n + total chunks) /\
    snd r = map (fun t => (t, answer dual kinds t)) (answered n chunks outs).
  Proof.
    revert n. induction chunks as [|m rest IH]; intro n; cbn [trace total fold_right answered map].
    - now rewrite Nat.add_0_r.
    - rewrite whole_tokens, seq_length. fold M. set (asked := filter _ outs).
      cbv zeta. rewrite whole_next. destruct (IH (n + m)) as [H1 H2]. cbv zeta in H1, H2.
      cbn [fst snd]. rewrite H1, H2, Nat.add_assoc. split; auto. rewrite map_app. f_equal.
      assert (A : forall t, In t asked -> n < t <= n + m).
      { intros t Ht. apply filter_In in Ht. destruct Ht as [_ Ht].
        apply andb_true_iff in Ht. rewrite Nat.ltb_lt, Nat.leb_le in Ht. lia. }
      clearbody asked. destruct dual.
      + rewrite forward_logits, whole_next. clear - A.
        induction asked as [|t asked IHa]; cbn [flat_map map]; auto.
        assert (n < t <= n + m) by (apply A; now left).
        rewrite dual_logit by lia. cbn [app]. f_equal. apply IHa. intros u Hu. apply A. now right.
      + unfold base_logits. clear - A. induction asked as [|t asked IHa]; cbn [flat_map map]; auto.
        rewrite single_row by (apply A; now left). cbn [app]. f_equal. apply IHa.
        intros u Hu. apply A. now right.
  Qed.
End Schedule.

Lemma oracle_answers dual kinds chunks outs :
  oracle dual kinds chunks outs =
  (memories kinds (fun t => t) (total chunks),
   map (fun t => (t, answer dual kinds t)) (answered 0 chunks outs)).
Proof.
  unfold oracle. rewrite <- whole_zero.
  pose proof (trace_answers kinds dual 0 chunks outs) as [H1 H2].
  rewrite H1, H2. f_equal. apply whole_caches.
Qed.

Lemma nth_memories kinds f n l k :
  nth_error kinds l = Some k ->
  nth l (memories kinds f n) [] =
  map (remembered k (fun t => f (first_reached (firstn l kinds) t))) (seq 1 n).
Proof.
  revert kinds f. induction l as [|l IH]; intros [|k' kinds] f H; try discriminate.
  - inversion H. reflexivity.
  - apply (IH kinds (fun t => f (low k' t)) H).
Qed.

Lemma lookup_map_seq {A} (g : nat -> A) n t :
  1 <= t <= n -> lookup (map g (seq 1 n)) t = Some (g t).
Proof.
  intro H. destruct t; [lia|]. simpl. rewrite nth_error_map, (nth_error_nth' _ 0).
  - now rewrite seq_nth by lia.
  - rewrite seq_length. lia.
Qed.

(* The memory of layer l at position t, in the oracle's answer. *)
Definition memory_at (dual : bool) (kinds : list Kind) (chunks outs : list nat) (l t : nat) :=
  lookup (nth l (fst (oracle dual kinds chunks outs)) []) t.

Lemma memory_at_is dual kinds chunks outs l k t :
  nth_error kinds l = Some k -> 1 <= t <= total chunks ->
  memory_at dual kinds chunks outs l t =
  Some (remembered k (first_reached (firstn l kinds)) t).
Proof.
  intros Hk Ht. unfold memory_at. rewrite oracle_answers. cbn [fst].
  rewrite (nth_memories _ _ _ _ k) by auto. now apply lookup_map_seq.
Qed.

(* An attention layer's cache entry depends on exactly the base leaves from the first token that the
   layers below it reach, to its own position. *)
Theorem attention_entry_set dual kinds chunks outs l t :
  (exists w, nth_error kinds l = Some (Windowed w)) \/ nth_error kinds l = Some Full ->
  1 <= t <= total chunks ->
  option_map depends (memory_at dual kinds chunks outs l t) =
  Some (interval (first_reached (firstn l kinds) t) t).
Proof. intros [[w Hk]|Hk] Ht; now rewrite (memory_at_is _ _ _ _ _ _ _ Hk Ht). Qed.

(* A recurrent layer's state after token t depends on exactly the base leaves 1 .. t. *)
Theorem recurrent_state_set dual kinds chunks outs l taps t :
  nth_error kinds l = Some (Linear taps) -> 1 <= t <= total chunks ->
  option_map depends (memory_at dual kinds chunks outs l t) = Some (interval 1 t).
Proof. intros Hk Ht. now rewrite (memory_at_is _ _ _ _ _ _ _ Hk Ht). Qed.

Lemma first_reached_reaches kinds : reaches (first_reached kinds).
Proof.
  assert (G : forall f, reaches f -> reaches (fun t => f (first_reached kinds t))).
  { induction kinds as [|k kinds IH]; intros f Hf; auto. apply (IH _ (low_reaches k f Hf)). }
  apply (G (fun t => t)), identity_reaches.
Qed.

(* A convolution's state after token t depends on exactly what its last taps - 1 inputs do. *)
Theorem conv_state_set dual kinds chunks outs l taps t :
  nth_error kinds l = Some (Linear taps) -> 2 <= taps -> 1 <= t <= total chunks ->
  option_map (conv_deps taps) (memory_at dual kinds chunks outs l t) =
  Some (interval (first_reached (firstn l kinds) (S (t - (taps - 1)))) t).
Proof.
  intros Hk Htaps Ht. rewrite (memory_at_is _ _ _ _ _ _ _ Hk Ht). cbn [option_map]. f_equal.
  pose proof (first_reached_reaches (firstn l kinds)) as Hf.
  unfold conv_deps. cbn [remembered recent].
  replace (last_n (taps - 1) (last_n (Nat.max 1 taps) (rows (first_reached (firstn l kinds)) t)))
    with (last_n (taps - 1) (rows (first_reached (firstn l kinds)) t)).
  - unfold rows. rewrite last_n_seq.
    replace (t - (t - (taps - 1))) with (S t - S (t - (taps - 1))) by lia.
    apply all_of_spans; auto; lia.
  - unfold last_n. rewrite skipn_length, skipn_skipn'. f_equal. lia.
Qed.

(* No cache entry and no state depends on an output copy: base leaves only. *)
Theorem memories_hold_base_leaves_only dual kinds chunks outs l t m :
  memory_at dual kinds chunks outs l t = Some m -> on_output (depends m) = [].
Proof.
  unfold memory_at. rewrite oracle_answers. cbn [fst]. intro H.
  destruct (nth_error kinds l) as [k|] eqn:Hk.
  - rewrite (nth_memories _ _ _ _ k) in H by auto.
    pose proof (lookup_bound _ _ _ H) as B. rewrite map_length, seq_length in B.
    rewrite lookup_map_seq in H by auto. inversion H. now destruct k.
  - rewrite nth_overflow in H; [now destruct t as [|[|t]]|].
    apply nth_error_None in Hk. clear - Hk. revert Hk. generalize (fun t : nat => t). revert l.
    induction kinds as [|k kinds IH]; intros [|l] f Hk; simpl in *; try lia.
    specialize (IH l (fun t => f (low k t))). lia.
Qed.

(* With one window w everywhere, l layers reach back to max(1, t - l(w-1)): the interval that the
   Window theorems give. *)
Theorem uniform_windows_reach w l t :
  1 <= t -> first_reached (repeat (Windowed w) l) t = Nat.max 1 (t - l * (w - 1)).
Proof.
  intro Ht. induction l as [|l IH]; cbn [repeat first_reached low]; [lia|]. rewrite IH.
  set (k := l * (w - 1)). replace (S l * (w - 1)) with (w - 1 + k) by (unfold k; lia). lia.
Qed.

(* With windows that differ, the oracle reaches as far back as the layers of Window.v do. *)
Theorem windows_reach {X E Q A} (ls : list (Attention X E Q A)) t :
  1 <= t -> first_reached (map (fun a => Windowed (window a)) ls) t = Nat.max 1 (t - reach ls).
Proof.
  intro Ht. induction ls as [|a ls IH]; cbn [map first_reached low].
  { change (reach []) with 0. lia. }
  rewrite IH. change (reach (a :: ls)) with (window a - 1 + reach ls). lia.
Qed.

(* So the cache entry of layer l at t, under one window w, is t - l(w-1) .. t, no more and no
   less. *)
Theorem uniform_window_cache_set dual w depth chunks outs l t :
  l < depth -> 1 <= t <= total chunks ->
  option_map depends (memory_at dual (repeat (Windowed w) depth) chunks outs l t) =
  Some (interval (Nat.max 1 (t - l * (w - 1))) t).
Proof.
  intros Hl Ht. rewrite attention_entry_set; auto.
  - do 2 f_equal. rewrite <- uniform_windows_reach by lia. f_equal.
    replace depth with (l + (depth - l)) by lia. rewrite repeat_app, firstn_app, repeat_length.
    rewrite Nat.sub_diag. simpl. rewrite app_nil_r. apply firstn_all2. now rewrite repeat_length.
  - left. exists w. rewrite (nth_error_nth' _ (Windowed w)) by (now rewrite repeat_length).
    f_equal. now apply nth_repeat.
Qed.

(* In a dual-stream model with at least one layer, the logits at an output position t depend on
   exactly the base leaves 1 .. t and the copy's own leaf. *)
Theorem dual_logit_set kinds chunks outs t d :
  kinds <> [] ->
  In (t, d) (snd (oracle true kinds chunks outs)) <->
  In t outs /\ 1 <= t <= total chunks /\ d = {| on_base := seq 1 t; on_output := [t] |}.
Proof.
  intro Hk. rewrite oracle_answers. cbn [snd]. rewrite in_map_iff.
  assert (A : forall u, answer true kinds u = {| on_base := seq 1 u; on_output := [u] |})
    by (intro u; destruct kinds; [contradiction|reflexivity]).
  split.
  - intros (u & Hu & Hin). apply pair_equal_spec in Hu. destruct Hu as [-> <-].
    apply in_answered in Hin. rewrite A.
    repeat split; tauto || lia.
  - intros (Hin & Ht & ->). exists t. rewrite A. split; auto. apply in_answered. auto with arith.
Qed.

(* In a single-stream model the logits at t depend on exactly the base leaves from the first token
   that all layers reach, to t. *)
Theorem single_logit_set kinds chunks outs t d :
  In (t, d) (snd (oracle false kinds chunks outs)) <->
  In t outs /\ 1 <= t <= total chunks /\ d = interval (first_reached kinds t) t.
Proof.
  rewrite oracle_answers. cbn [snd answer]. rewrite in_map_iff. split.
  - intros (u & Hu & Hin). apply pair_equal_spec in Hu. destruct Hu as [-> <-].
    apply in_answered in Hin. repeat split; tauto || lia.
  - intros (Hin & Ht & ->). exists t. split; auto. apply in_answered. auto with arith.
Qed.

(* The schedule does not matter: any two chunkings of the same tokens give the same memories, and
   the same set for every logit. *)
Theorem oracle_ignores_chunking dual kinds chunks chunks' outs :
  total chunks = total chunks' ->
  fst (oracle dual kinds chunks outs) = fst (oracle dual kinds chunks' outs) /\
  (forall t d, In (t, d) (snd (oracle dual kinds chunks outs)) <->
               In (t, d) (snd (oracle dual kinds chunks' outs))).
Proof.
  intro H. rewrite !oracle_answers. cbn [fst snd]. rewrite H. split; auto.
  intros t d. rewrite !in_map_iff.
  split; intros (u & Hu & Hin); exists u; rewrite in_answered, H in *; auto;
    rewrite in_answered, <- H in *; auto.
Qed.
