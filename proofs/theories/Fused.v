(* The fused layout: both streams in one tensor, as the paper's Algorithm 2 runs them.

   Keys and values are projected from every row of the tensor, copies included; what keeps copies
   out of the base stream is the mask alone. The two-stream model of Model.v keeps them out by
   type, so the theorems here are the ones that are not true by construction. *)
From Coq Require Import List Arith Bool Lia.
From Orthros Require Import Lists Model Layers TwoStreams.
Import ListNotations.

Inductive Stream := Base | Output.

Definition is_base (k : Stream) : bool := match k with Base => true | Output => false end.

Section Fused.
  Context {X E Q A : Type}.
  Implicit Types (a : Attention X E Q A).

  (* A row of the tensor and a key made from one: both carry their stream and logical position. *)
  Record Row := { stream : Stream; position : nat; state : X }.
  Record Key := { key_stream : Stream; key_position : nat; key_entry : E }.

  (* The one mask. A key is visible when it belongs to the base stream and stands at or before the
     query's logical position; for a base query it must also lie within the last w positions. *)
  Definition mask (w : nat) (row : Row) (key : Key) : bool :=
    is_base (key_stream key)
    && (key_position key <=? position row)
    && match stream row with
       | Base => position row <? key_position key + w
       | Output => true
       end.

  Definition key_of a (r : Row) : Key := {|
    key_stream := stream r;
    key_position := position r;
    key_entry := key_value a (position r) (state r)
  |}.

  (* The keys that a layer attends over: the cached ones at positions 1, 2, .. and one per row. *)
  Definition fused_keys a (cached : list E) (rows : list Row) : list Key :=
    at_positions (fun t e => {| key_stream := Base; key_position := t; key_entry := e |}) 1 cached
    ++ map (key_of a) rows.

  Definition fused_query a (r : Row) : Q :=
    match stream r with
    | Base => query a (position r) (state r)
    | Output => query_output a (position r) (state r)
    end.

  Definition fused_row a (keys : list Key) (r : Row) : Row := {|
    stream := stream r;
    position := position r;
    state := finish a (state r)
               (attend a (fused_query a r) (map key_entry (filter (mask (window a) r) keys)))
  |}.

  Definition fused_layer a cached (rows : list Row) : list Row :=
    map (fused_row a (fused_keys a cached rows)) rows.

  (* After a layer its cache has gained the entries of the base rows. *)
  Definition fused_cache a cached (rows : list Row) : list E :=
    cached ++ map (fun r => key_entry (key_of a r)) (filter (fun r => is_base (stream r)) rows).

  Fixpoint run_fused (ls : list (Attention X E Q A)) cs rows : list (list E) * list Row :=
    match ls, cs with
    | a :: ls', c :: cs' =>
        let r := run_fused ls' cs' (fused_layer a c rows) in
        (fused_cache a c rows :: fst r, snd r)
    | _, _ => ([], rows)
    end.

  (* Base rows standing at n+1, n+2, .. and copies at the positions they carry. *)
  Definition base_tensor (n : nat) (xs : list X) : list Row :=
    at_positions (fun t x => {| stream := Base; position := t; state := x |}) (S n) xs.
  Definition copy_tensor (copies : list (nat * X)) : list Row :=
    map (fun '(t, x) => {| stream := Output; position := t; state := x |}) copies.

  (* A tensor holds base rows xs after position n, and copies, in any arrangement, when its base
     rows are xs in order and its other rows are the copies in order. *)
  Definition holds (n : nat) (xs : list X) (copies : list (nat * X)) (rows : list Row) : Prop :=
    filter (fun r => is_base (stream r)) rows = base_tensor n xs /\
    filter (fun r => negb (is_base (stream r))) rows = copy_tensor copies.

  Definition base_key (t : nat) (e : E) : Key :=
    {| key_stream := Base; key_position := t; key_entry := e |}.

  (* Facts about filtering keys by position. *)

  Lemma filter_and {T} (f g : T -> bool) xs :
    filter (fun x => f x && g x) xs = filter g (filter f xs).
  Proof. induction xs as [|x xs]; simpl; auto. destruct (f x); simpl; now rewrite IHxs. Qed.

  Lemma filter_map_comm {T U} (f : U -> bool) (g : T -> U) xs :
    filter f (map g xs) = map g (filter (fun x => f (g x)) xs).
  Proof. induction xs as [|x xs]; simpl; auto. destruct (f (g x)); simpl; now rewrite IHxs. Qed.

  Lemma filter_true {T} (f : T -> bool) xs : (forall x, In x xs -> f x = true) -> filter f xs = xs.
  Proof. induction xs; simpl; intro H; auto. rewrite H by auto. f_equal; auto. Qed.

  Lemma filter_at_or_before t p c :
    filter (fun k => key_position k <=? t) (at_positions base_key p c) =
    at_positions base_key p (firstn (S t - p) c).
  Proof.
    revert p; induction c as [|e c IH]; intro p; [now rewrite firstn_nil|].
    cbn [at_positions filter]. rewrite IH. simpl key_position.
    destruct (Nat.leb_spec p t).
    - replace (S t - p) with (S (S t - S p)) by lia. reflexivity.
    - replace (S t - S p) with 0 by lia. replace (S t - p) with 0 by lia. reflexivity.
  Qed.

  Lemma filter_within t w p c :
    map key_entry (filter (fun k => t <? key_position k + w) (at_positions base_key p c)) =
    skipn (S t - w - p) c.
  Proof.
    revert p; induction c as [|e c IH]; intro p; [now rewrite skipn_nil|].
    cbn [at_positions filter]. simpl key_position.
    destruct (Nat.ltb_spec t (p + w)).
    - cbn [map]. rewrite IH. replace (S t - w - p) with 0 by lia.
      replace (S t - w - S p) with 0 by lia. reflexivity.
    - rewrite IH. replace (S t - w - p) with (S (S t - w - S p)) by lia. reflexivity.
  Qed.

  Lemma entries_of_base_keys p c : map key_entry (at_positions base_key p c) = c.
  Proof. revert p; induction c; simpl; intros; f_equal; auto. Qed.

  (* The base keys of a tensor are the positions of the two-stream model's cache. *)
  Lemma base_keys a c n xs copies rows :
    length c = n -> holds n xs copies rows ->
    filter (fun k => is_base (key_stream k)) (fused_keys a c rows) =
    at_positions base_key 1 (fill (attention_layer a) c xs).
  Proof.
    intros Hn [Hb _]. unfold fused_keys.
    rewrite filter_app, filter_true, filter_map_comm.
    - simpl key_stream. rewrite Hb, fill_attention, at_positions_app. f_equal. unfold base_tensor.
      rewrite Hn. change (1 + n) with (S n). generalize (S n). clear.
      induction xs; simpl; intros; f_equal; auto.
    - intros k Hk. generalize dependent 1. clear. induction c; simpl; intros m H; [contradiction|].
      destruct H as [<-|H]; eauto.
  Qed.

  Lemma visible_to_base a c n xs copies rows t x :
    length c = n -> holds n xs copies rows -> t <= n + length xs ->
    map key_entry (filter (mask (window a) {| stream := Base; position := t; state := x |})
                     (fused_keys a c rows)) =
    last_n (window a) (firstn t (fill (attention_layer a) c xs)).
  Proof.
    intros Hn Hh Ht. unfold mask. simpl.
    rewrite (filter_and (fun k => is_base (key_stream k) && (key_position k <=? t))).
    rewrite (filter_and (fun k => is_base (key_stream k))).
    rewrite (base_keys a c n xs copies) by auto.
    rewrite filter_at_or_before, filter_within. unfold last_n.
    rewrite firstn_length, fill_length, Hn. f_equal; [lia|f_equal; lia].
  Qed.

  Lemma visible_to_output a c n xs copies rows t x :
    length c = n -> holds n xs copies rows ->
    map key_entry (filter (mask (window a) {| stream := Output; position := t; state := x |})
                     (fused_keys a c rows)) =
    firstn t (fill (attention_layer a) c xs).
  Proof.
    intros Hn Hh. unfold mask. simpl.
    rewrite (filter_and (fun k => is_base (key_stream k) && (key_position k <=? t))).
    rewrite (filter_and (fun k => is_base (key_stream k))).
    rewrite (base_keys a c n xs copies) by auto.
    rewrite filter_at_or_before, filter_true, entries_of_base_keys by auto.
    f_equal; lia.
  Qed.

  (* One fused layer computes both streams' steps. *)
  Lemma fused_layer_holds a c n xs copies rows :
    length c = n -> holds n xs copies rows ->
    holds n (base_step (attention_layer a) c xs) (output_step (attention_layer a) c xs copies)
      (fused_layer a c rows).
  Proof.
    intros Hn Hh. pose proof Hh as [Hb Ho]. unfold fused_layer. split.
    - rewrite filter_map_comm. simpl stream. rewrite Hb. unfold base_tensor, base_step. rewrite Hn.
      assert (V : forall t x, t <= n + length xs -> _) by
        (intros t x H; exact (visible_to_base a c n xs copies rows t x Hn Hh H)).
      set (c' := fill (attention_layer a) c xs) in *. clearbody c'.
      assert (G : forall m ys, m + length ys = S n + length xs ->
        map (fused_row a (fused_keys a c rows))
          (at_positions (fun t x => {| stream := Base; position := t; state := x |}) m ys) =
        at_positions (fun t x => {| stream := Base; position := t; state := x |}) m
          (at_positions (fun t x => base_row (attention_layer a) (firstn t c') t x) m ys)).
      { intros m ys. revert m. induction ys as [|y ys IH]; intros m Hm; simpl in *; auto.
        rewrite IH by lia. f_equal. unfold fused_row. simpl stream. simpl position. simpl state.
        now rewrite V by lia. }
      now apply G.
    - rewrite filter_map_comm. simpl stream. rewrite Ho. unfold copy_tensor, output_step.
      rewrite !map_map. apply map_ext. intros [t x]. unfold fused_row. simpl stream. simpl position.
      simpl state. now rewrite (visible_to_output a c n xs copies).
  Qed.

  Lemma fused_cache_fill a c n xs copies rows :
    length c = n -> holds n xs copies rows -> fused_cache a c rows = fill (attention_layer a) c xs.
  Proof.
    intros Hn [Hb _]. unfold fused_cache. rewrite Hb, fill_attention, Hn. f_equal.
    unfold base_tensor. generalize (S n). clear. induction xs; simpl; intros; f_equal; auto.
  Qed.

  (* In any arrangement of base rows and copies - any set, order and multiplicity of copies, before,
     between or after the base rows - the fused tensor leaves the two-stream model's caches, and its
     rows are the two-stream model's rows. *)
  Theorem fused_equals_two_streams (ls : list (Attention X E Q A)) cs n xs copies rows :
    Forall (fun c => length c = n) cs -> holds n xs copies rows ->
    let two := run (map attention_layer ls) cs xs copies in
    fst (run_fused ls cs rows) = new_caches two /\
    holds n (base_rows two) (output_rows two) (snd (run_fused ls cs rows)).
  Proof.
    revert cs xs copies rows.
    induction ls as [|a ls IH]; intros [|c cs] xs copies rows Hc Hh; simpl; auto.
    inversion Hc as [|? ? Hn Hc']; subst.
    destruct (IH cs _ _ _ Hc' (fused_layer_holds a c _ xs copies rows eq_refl Hh)) as [E1 E2].
    rewrite E1, (fused_cache_fill a c _ xs copies rows eq_refl Hh). auto.
  Qed.

  (* The copies sit in the tail when no base row follows a copy. *)
  Fixpoint copies_in_tail (rows : list Row) : Prop :=
    match rows with
    | [] => True
    | r :: rest =>
        match stream r with
        | Base => copies_in_tail rest
        | Output => filter (fun r => is_base (stream r)) rest = [] /\ copies_in_tail rest
        end
    end.

  Lemma tail_split n xs copies rows :
    copies_in_tail rows -> holds n xs copies rows -> rows = base_tensor n xs ++ copy_tensor copies.
  Proof.
    intros Ht [<- <-]. induction rows as [|r rows IH]; simpl in *; auto.
    destruct (stream r); simpl.
    - f_equal. auto.
    - destruct Ht as [Hn Ht]. rewrite Hn. simpl. f_equal. rewrite IH at 1 by auto. now rewrite Hn.
  Qed.

  Lemma run_fused_tail ls cs rows :
    copies_in_tail rows -> copies_in_tail (snd (run_fused ls cs rows)).
  Proof.
    revert cs rows. induction ls as [|a ls IH]; intros [|c cs] rows H; simpl; auto.
    apply IH. unfold fused_layer. generalize (fused_keys a c rows). intro keys.
    induction rows as [|r rows IHr]; simpl in *; auto. destruct (stream r); auto.
    destruct H as [Hn H]. split; auto. rewrite filter_map_comm. simpl stream. now rewrite Hn.
  Qed.

  Lemma tail_layout n xs copies :
    holds n xs copies (base_tensor n xs ++ copy_tensor copies) /\
    copies_in_tail (base_tensor n xs ++ copy_tensor copies).
  Proof.
    assert (C : filter (fun r => is_base (stream r)) (copy_tensor copies) = []).
    { induction copies as [|[t x] copies IH]; simpl; auto. }
    assert (T : copies_in_tail (copy_tensor copies)).
    { clear C. induction copies as [|[t x] copies IH]; simpl; auto. split; auto.
      clear. induction copies as [|[t x] copies IH]; simpl; auto. }
    assert (N : filter (fun r => negb (is_base (stream r))) (copy_tensor copies) =
      copy_tensor copies).
    { apply filter_true. unfold copy_tensor. intros r Hr. apply in_map_iff in Hr.
      destruct Hr as ([t x] & <- & _). reflexivity. }
    unfold holds, base_tensor. generalize (S n).
    induction xs as [|x xs IH]; intro m; simpl; [now rewrite C, N|].
    destruct (IH (S m)) as [[-> ->] H]. auto.
  Qed.

  (* Algorithm 2's arrangement, copies in the tail: the first rows of the fused tensor are the
     two-stream model's base rows, its tail is the two-stream model's output rows, in order. *)
  Theorem fused_tail_layout (ls : list (Attention X E Q A)) cs n xs copies :
    Forall (fun c => length c = n) cs ->
    let two := run (map attention_layer ls) cs xs copies in
    run_fused ls cs (base_tensor n xs ++ copy_tensor copies) =
    (new_caches two, base_tensor n (base_rows two) ++ copy_tensor (output_rows two)).
  Proof.
    intros Hc two. destruct (tail_layout n xs copies) as [Hh Ht].
    destruct (fused_equals_two_streams ls cs n xs copies _ Hc Hh) as [Hf H].
    apply (tail_split n) in H; [|now apply run_fused_tail].
    rewrite (surjective_pairing (run_fused _ _ _)). now rewrite Hf, H.
  Qed.

  (* So whatever copies the tail holds, none included, the fused tensor leaves the same caches and
     the same base rows. *)
  Theorem fused_base_rows_ignore_copies (ls : list (Attention X E Q A)) cs n xs copies :
    Forall (fun c => length c = n) cs ->
    let with_copies := run_fused ls cs (base_tensor n xs ++ copy_tensor copies) in
    let without := run_fused ls cs (base_tensor n xs) in
    fst with_copies = fst without /\
    filter (fun r => is_base (stream r)) (snd with_copies) = snd without.
  Proof.
    intros Hc. cbv zeta.
    replace (base_tensor n xs) with (base_tensor n xs ++ copy_tensor []) at 2 4 by apply app_nil_r.
    rewrite (fused_tail_layout ls cs n xs copies Hc), (fused_tail_layout ls cs n xs [] Hc).
    destruct (run_ignores_copies (map attention_layer ls) cs xs copies []) as [-> ->].
    cbn [fst snd]. split; auto. rewrite (run_copies _ _ _ []). cbn [map copy_tensor].
    rewrite app_nil_r. apply tail_layout.
  Qed.
End Fused.

Arguments Row : clear implicits.
Arguments Key : clear implicits.
