(* The other direction of Window: every token within reach can change the base state. *)
From Coq Require Import List Arith Bool Lia.
From Orthros Require Import Lists Model Layers Window.
Import ListNotations.

(* Rows are marks: a row is marked when it sees a marked entry or was marked before. *)
Definition marking_layer (w : nat) : Attention bool bool unit bool := {|
  window := w;
  key_value := fun _ x => x;
  query := fun _ _ => tt;
  query_output := fun _ _ => tt;
  attend := fun _ seen => existsb (fun e => e) seen;
  finish := orb
|}.

Definition marking_model (l w : nat) : Model bool bool bool bool :=
  attention_model (fun b => b) (fun b => b) (repeat (marking_layer w) l) (fun b => b).

(* n tokens, none marked; and the same with the one at position s marked. *)
Definition quiet (n : nat) : list bool := repeat false n.
Definition marked (n s : nat) : list bool := repeat false (s - 1) ++ true :: repeat false (n - s).

Lemma marking_step_spreads w xs s t :
  lookup xs s = Some true -> s <= t <= s + (w - 1) -> t <= length xs ->
  lookup (base_step (attention_layer (marking_layer w)) [] xs) t = Some true.
Proof.
  intros Hs Ht Hn. rewrite lookup_base_step. simpl. rewrite at_positions_const, map_id.
  pose proof (lookup_bound _ _ _ Hs) as B.
  destruct (lookup_some xs t) as [x Hx]; [lia|]. rewrite Hx. simpl. f_equal.
  destruct (Nat.eq_dec s t) as [->|Hne].
  - rewrite Hs in Hx. inversion Hx. reflexivity.
  - replace (existsb _ _) with true; [apply orb_true_r|]. symmetry. apply existsb_exists.
    exists true. split; auto. apply (nth_error_In _ (s - 1 - (t - w))).
    unfold last_n. rewrite firstn_length, nth_error_skipn, nth_error_firstn.
    replace (Nat.min t (length xs) - w + (s - 1 - (t - w))) with (s - 1) by lia.
    destruct (Nat.ltb_spec (s - 1) t); [|lia].
    destruct s; [discriminate|]. simpl. now rewrite Nat.sub_0_r.
Qed.

Lemma marking_run_spreads l w xs s t :
  lookup xs s = Some true -> s <= t <= s + l * (w - 1) -> t <= length xs ->
  let ls := repeat (marking_layer w) l in
  lookup (base_rows (run (map attention_layer ls) (no_caches ls) xs [])) t = Some true.
Proof.
  revert xs s. induction l as [|l IH]; intros xs s Hs Ht Hn; simpl in *.
  - now replace t with s by lia.
  - apply (IH _ (Nat.min t (s + (w - 1)))); rewrite ?base_step_length; auto.
    + apply (marking_step_spreads w xs s); auto; lia.
    + set (further := l * (w - 1)) in *. lia.
Qed.

Lemma marking_step_quiet w n :
  base_step (attention_layer (marking_layer w)) [] (quiet n) = quiet n.
Proof.
  unfold base_step. rewrite fill_attention. simpl. rewrite at_positions_const, map_id.
  assert (Q : forall t, existsb (fun e => e) (last_n w (firstn t (quiet n))) = false).
  { intro t. destruct (existsb _ _) eqn:Hb; auto. apply existsb_exists in Hb.
    destruct Hb as (b & Hin & ->). unfold last_n in Hin.
    assert (Hq : In true (quiet n)).
    { rewrite <- (firstn_skipn t). apply in_or_app. left.
      rewrite <- (firstn_skipn (length (firstn t (quiet n)) - w) (firstn t (quiet n))).
      apply in_or_app. now right. }
    apply repeat_spec in Hq. discriminate. }
  rewrite (at_positions_ext _ (fun _ x => x)).
  - now rewrite at_positions_const, map_id.
  - intros t x _. now rewrite Q, orb_false_r.
Qed.

(* For every depth l and window w, in this model, each token at t - l(w-1) .. t does change the base
   state at t: marking it changes the state. With Window.v this makes the last l(w-1) + 1 tokens
   exactly what a base state depends on. *)
Theorem base_state_changes_with_every_token_in_reach l w n s t :
  1 <= s <= t -> t - l * (w - 1) <= s -> t <= n ->
  let M := marking_model l w in
  lookup (hidden (forward M (start M) (marked n s) [])) t <>
  lookup (hidden (forward M (start M) (quiet n) [])) t.
Proof.
  intros Hs Hreach Hn M. unfold forward. cbn [hidden]. unfold M, marking_model.
  rewrite start_caches. simpl. rewrite !map_id.
  assert (Hq : base_rows (run (map attention_layer (repeat (marking_layer w) l))
            (no_caches (repeat (marking_layer w) l)) (quiet n) []) = quiet n).
  { clear. induction l as [|l IH]; simpl; auto. now rewrite marking_step_quiet. }
  rewrite Hq, (marking_run_spreads l w (marked n s) s t).
  - unfold quiet. destruct t; simpl; [discriminate|].
    destruct (nth_error (repeat false n) t) eqn:He; [|discriminate].
    apply nth_error_In, repeat_spec in He. subst. discriminate.
  - unfold marked. destruct s; [lia|]. simpl. rewrite Nat.sub_0_r, nth_error_app2 by
      (now rewrite repeat_length). now rewrite repeat_length, Nat.sub_diag.
  - lia.
  - unfold marked. rewrite app_length. simpl. rewrite !repeat_length. lia.
Qed.
