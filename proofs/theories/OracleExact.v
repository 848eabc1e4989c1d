(* What the oracle computes, exactly: every set is an interval of base leaves, and an output copy
   adds its own leaf. *)
From Coq Require Import List Arith Bool Sorted Lia.
From Orthros Require Import Lists Model Layers FullWindow DepSets Oracle.
Import ListNotations.

(* The first row that position t reads in a layer of each kind. *)
Definition low (k : Kind) (t : nat) : nat :=
  match k with
  | Windowed w => Nat.max 1 (t - (w - 1))
  | Full | Linear _ => 1
  end.

(* The first token that position t depends on after layers of these kinds, first layer first. *)
Fixpoint first_reached (kinds : list Kind) (t : nat) : nat :=
  match kinds with
  | [] => t
  | k :: rest => low k (first_reached rest t)
  end.

(* A sequence's positions, and lists made from them. *)

Lemma firstn_seq t n m : t <= n -> firstn t (seq m n) = seq m t.
Proof.
  revert n m. induction t as [|t IH]; intros [|n] m H; simpl; auto; [lia|]. f_equal. apply IH. lia.
Qed.

Lemma skipn_seq k n m : skipn k (seq m n) = seq (m + k) (n - k).
Proof.
  revert n m. induction k as [|k IH]; intros n m; simpl; [now rewrite Nat.add_0_r, Nat.sub_0_r|].
  destruct n; simpl; auto. rewrite IH. f_equal. lia.
Qed.

Lemma at_positions_seq {A B} (f : nat -> A -> B) (g : nat -> A) m n :
  at_positions f m (map g (seq m n)) = map (fun t => f t (g t)) (seq m n).
Proof. revert m. induction n; simpl; intros; f_equal; auto. Qed.

Lemma last_n_seq {A} (g : nat -> A) w t :
  last_n w (map g (seq 1 t)) = map g (seq (S (t - w)) (t - (t - w))).
Proof. unfold last_n. now rewrite map_length, seq_length, skipn_map, skipn_seq. Qed.

(* Rows whose dependencies are the intervals from f t to t. *)
Definition spans (f : nat -> nat) (t : nat) : Deps := interval (f t) t.
Definition rows (f : nat -> nat) (n : nat) : list Deps := map (spans f) (seq 1 n).

(* f reaches back, never before position 1, and never further for an earlier position. *)
Definition reaches (f : nat -> nat) : Prop :=
  (forall t, 1 <= t -> 1 <= f t <= t) /\ (forall s t, s <= t -> f s <= f t).

Lemma in_interval lo hi i : In i (on_base (interval lo hi)) <-> lo <= i <= hi.
Proof. unfold interval. cbn [on_base]. rewrite in_seq. lia. Qed.

(* The union of the rows lo .. t spans from f lo to t. *)
Lemma all_of_spans f lo t :
  reaches f -> 1 <= lo <= t -> all_of (map (spans f) (seq lo (S t - lo))) = interval (f lo) t.
Proof.
  intros [Hf Hm] Hlo. apply is_interval.
  - apply all_of_sorted. intros d Hd. apply in_map_iff in Hd. destruct Hd as (j & <- & _).
    apply seq_sorted.
  - apply all_of_no_output. intros d Hd. apply in_map_iff in Hd. now destruct Hd as (j & <- & _).
  - intro i. rewrite in_all_of. split.
    + intros (d & Hd & Hi). apply in_map_iff in Hd. destruct Hd as (j & <- & Hj).
      apply in_seq in Hj. unfold spans in Hi. rewrite in_interval in Hi.
      specialize (Hm lo j). lia.
    + intros Hi. destruct (Nat.le_gt_cases lo i) as [H|H].
      * exists (spans f i). split; [apply in_map, in_seq; lia|].
        apply in_interval. specialize (Hf i). lia.
      * exists (spans f lo). split; [apply in_map, in_seq; lia|]. apply in_interval. lia.
Qed.

Lemma both_intervals lo lo' hi :
  lo' <= lo -> lo' <= hi -> both (interval lo hi) (interval lo' hi) = interval lo' hi.
Proof.
  intros H H'. apply is_interval.
  - apply union_sorted; apply seq_sorted.
  - reflexivity.
  - intro i. cbn [both on_base]. rewrite in_union, !in_interval. lia.
Qed.

Lemma low_reaches k f : reaches f -> reaches (fun t => f (low k t)).
Proof.
  intros [Hf Hm]. split.
  - intros t Ht. assert (1 <= low k t <= t) by (destruct k; cbn [low]; lia).
    pose proof (Hf (low k t)). lia.
  - intros s t H. apply Hm. destruct k; cbn [low]; lia.
Qed.

(* What position t leaves in a layer of kind k whose input rows are spans f: an attention entry
   depends on what row t depends on; a state on everything up to t. *)
Definition remembered (k : Kind) (f : nat -> nat) (t : nat) : Memory :=
  match k with
  | Windowed _ | Full => {| depends := spans f t; recent := [] |}
  | Linear taps => {|
      depends := interval 1 t;
      recent := last_n (Nat.max 1 taps) (rows f t)
    |}
  end.

Lemma rows_succ f n : rows f (S n) = rows f n ++ [spans f (S n)].
Proof. unfold rows. rewrite seq_S, map_app. reflexivity. Qed.

Lemma last_n_last_n {A} c (xs : list A) x :
  1 <= c -> last_n c (last_n c xs ++ [x]) = last_n c (xs ++ [x]).
Proof.
  intro Hc. unfold last_n. rewrite !app_length, skipn_length, !skipn_app, skipn_length,
    skipn_skipn'.
  simpl. f_equal; f_equal; lia.
Qed.

Lemma fill_rows k f n :
  reaches f -> fill (tracing_layer k) [] (rows f n) = map (remembered k f) (seq 1 n).
Proof.
  intro Hf. destruct k as [w| |taps]; simpl tracing_layer; simpl remembered.
  - rewrite fill_attention. simpl. unfold rows. now rewrite at_positions_seq.
  - rewrite fill_full, fill_attention. simpl. unfold rows. now rewrite at_positions_seq.
  - induction n as [|n IH]; auto.
    rewrite rows_succ, fill_app, IH, seq_S, map_app. cbn [fill map entry recurrent_layer].
    do 2 f_equal.
    assert (E : last (map (remembered (Linear taps) f) (seq 1 n))
                  (initial (tracing_recurrent taps)) =
                remembered (Linear taps) f n).
    { destruct n; [reflexivity|]. rewrite seq_S, map_app. apply last_last. }
    rewrite E. change (1 + n) with (S n). cbn [update tracing_recurrent remembered depends recent].
    set (c := Nat.max 1 taps). assert (Hc : 1 <= c) by lia. clearbody c.
    rewrite last_n_last_n, <- rows_succ by auto. f_equal.
    unfold rows. rewrite last_n_seq.
    replace (S n - (S n - c)) with (S (S n) - S (S n - c)) by lia.
    rewrite all_of_spans by (auto; lia). destruct Hf as [Hf Hm].
    pose proof (Hf (S (S n - c))). apply is_interval.
    + apply union_sorted; apply seq_sorted.
    + reflexivity.
    + intro i. cbn [both on_base]. rewrite in_union, !in_interval.
      pose proof (Hm (S (S n - c)) (S n)). pose proof (Hf (S n)). lia.
Qed.

(* A row that reads itself and the rows lo .. t spans from f lo to t. *)
Lemma row_reads f lo t :
  reaches f -> 1 <= lo <= t ->
  both (spans f t) (both (spans f t) (all_of (map (spans f) (seq lo (S t - lo))))) =
  interval (f lo) t.
Proof.
  intros Hf Hlo. rewrite all_of_spans by auto. destruct Hf as [Hf Hm]. unfold spans.
  pose proof (Hf t). pose proof (Hm lo t). pose proof (Hf lo). rewrite !both_intervals; auto; lia.
Qed.

Lemma entries_depend k f ts :
  match k with Linear _ => False | _ => True end ->
  map depends (map (remembered k f) ts) = map (spans f) ts.
Proof. intro H. rewrite map_map. now destruct k. Qed.

(* A layer's base rows span from the first row that each reads. *)
Lemma base_step_rows k f n :
  reaches f -> base_step (tracing_layer k) [] (rows f n) = rows (fun t => f (low k t)) n.
Proof.
  intro Hf. unfold base_step. rewrite fill_rows by auto. cbv zeta. unfold rows at 1.
  cbn [length]. rewrite at_positions_seq. unfold rows. apply map_ext_in. intros t Ht.
  apply in_seq in Ht. rewrite firstn_map, firstn_seq by lia. unfold spans at 2.
  destruct k as [w| |taps];
    cbn [tracing_layer attention_layer full_layer recurrent_layer base_row tracing_attention
         tracing_recurrent finish attend query window finish_row read_base low].
  - rewrite last_n_seq, entries_depend by auto. destruct w as [|w].
    + replace (t - (t - 0)) with 0 by lia. replace (Nat.max 1 (t - (0 - 1))) with t by lia.
      rewrite <- (row_reads f t t) by (auto; lia). replace (S t - t) with 1 by lia.
      cbn [seq map all_of fold_right]. unfold spans, nothing, both.
      cbn [on_base on_output interval].
      rewrite !union_nil_r. f_equal. symmetry. apply sorted_ext.
      * repeat apply union_sorted; apply seq_sorted.
      * repeat apply union_sorted; apply seq_sorted.
      * intro i. rewrite !in_union. tauto.
    + replace (Nat.max 1 (t - (S w - 1))) with (S (t - S w)) by lia.
      rewrite <- row_reads by (auto; lia). do 4 f_equal.
  - rewrite entries_depend by auto. rewrite <- row_reads by (auto; lia).
    replace (S t - 1) with t by lia. reflexivity.
  - replace (last (map (remembered (Linear taps) f) (seq 1 t)) _) with
      (remembered (Linear taps) f t).
    2: { destruct t; [lia|]. rewrite seq_S, map_app. symmetry. apply last_last. }
    cbn [remembered depends recent]. unfold rows. rewrite last_n_seq.
    set (c := Nat.max 1 taps). assert (Hc : 1 <= c) by lia. clearbody c.
    replace (t - (t - c)) with (S t - S (t - c)) by lia.
    rewrite all_of_spans by (auto; lia). unfold spans. destruct Hf as [Hf Hm].
    pose proof (Hf t). pose proof (Hf 1). pose proof (Hf (S (t - c))).
    pose proof (Hm (S (t - c)) t). replace (f 1) with 1 by lia.
    rewrite !both_intervals; auto; lia.
Qed.

(* The caches and last rows of a run over a whole sequence, layer by layer. *)
Fixpoint memories (kinds : list Kind) (f : nat -> nat) (n : nat) : list (list Memory) :=
  match kinds with
  | [] => []
  | k :: rest => map (remembered k f) (seq 1 n) :: memories rest (fun t => f (low k t)) n
  end.

Lemma run_rows kinds f n copies :
  reaches f ->
  let r := run (map tracing_layer kinds) (map (fun _ => []) kinds) (rows f n) copies in
  new_caches r = memories kinds f n /\ base_rows r = rows (fun t => f (first_reached kinds t)) n.
Proof.
  revert f copies. induction kinds as [|k kinds IH]; intros f copies Hf; [auto|].
  cbn [map run new_caches base_rows memories first_reached].
  rewrite base_step_rows, fill_rows by auto.
  destruct (IH _ (output_step (tracing_layer k) [] (rows f n) copies) (low_reaches k f Hf))
    as [-> ->].
  auto.
Qed.

Lemma identity_reaches : reaches (fun t => t).
Proof. split; intros; lia. Qed.

Lemma embedded_tokens n :
  map (fun j => {| on_base := [j]; on_output := [] |}) (seq 1 n) = rows (fun t => t) n.
Proof.
  unfold rows. apply map_ext. intro t. unfold spans, interval. now replace (S t - t) with 1 by lia.
Qed.

(* An output copy after some layers: its own leaf, and every base leaf up to its position. *)
Definition output_set (depth t : nat) : Deps := {|
  on_base := match depth with 0 => [] | S _ => seq 1 t end;
  on_output := [t]
|}.

Lemma output_row_set k f n t x :
  reaches f -> 1 <= t <= n -> (x = output_set 0 t \/ x = output_set 1 t) ->
  output_row (tracing_layer k) (firstn t (map (remembered k f) (seq 1 n))) t x = output_set 1 t.
Proof.
  intros Hf Ht Hx. rewrite firstn_map, firstn_seq by lia.
  assert (H1 : f 1 = 1) by (pose proof (proj1 Hf 1); lia).
  assert (U : forall a, a = [] \/ a = seq 1 t -> union a (seq 1 t) = seq 1 t).
  { intros a Ha. apply sorted_ext.
    - apply union_sorted; [|apply seq_sorted].
      destruct Ha as [->| ->]; [constructor|apply seq_sorted].
    - apply seq_sorted.
    - intro i. rewrite in_union. destruct Ha as [->| ->]; simpl; tauto. }
  assert (B : on_base x = [] \/ on_base x = seq 1 t) by (destruct Hx as [->| ->]; auto).
  assert (O : on_output x = [t]) by (destruct Hx as [->| ->]; auto).
  assert (A : all_of (map (spans f) (seq 1 t)) = interval 1 t).
  { replace t with (S t - 1) at 1 by lia. rewrite all_of_spans by (auto; lia). now rewrite H1. }
  destruct k as [w| |taps];
    cbn [tracing_layer attention_layer full_layer recurrent_layer output_row tracing_attention
         tracing_recurrent finish attend query_output finish_row read_output].
  3: { replace (last (map (remembered (Linear taps) f) (seq 1 t)) _) with
         (remembered (Linear taps) f t).
       2: { destruct t; [lia|]. rewrite seq_S, map_app. symmetry. apply last_last. }
       unfold both, output_set, interval.
       cbn [remembered depends recent on_base on_output interval].
       rewrite O. replace (S t - 1) with t by lia. rewrite (U _ B), (U _ B).
       simpl. now rewrite Nat.compare_refl. }
  all: rewrite entries_depend by auto; rewrite A; unfold both, output_set, interval;
       cbn [on_base on_output]; rewrite O; replace (S t - 1) with t by lia; rewrite !(U _ B);
       simpl; now rewrite Nat.compare_refl.
Qed.
