(* Window: how far back a base row can see after several layers. *)
From Coq Require Import List Arith Lia.
From Orthros Require Import Lists Model Layers TwoStreams.
Import ListNotations.

(* The reach of a list of attention layers: the sum of their w - 1. *)
Definition reach {X E Q A} (ls : list (Attention X E Q A)) : nat :=
  fold_right (fun a sum => window a - 1 + sum) 0 ls.

Section Window.
  Context {Token X E Q A Logit : Type}.
  Implicit Types (a : Attention X E Q A) (ls : list (Attention X E Q A)).

  Definition no_caches ls : list (list E) := map (fun _ => []) ls.

  Lemma lookup_base_step a xs t :
    lookup (base_step (attention_layer a) [] xs) t =
    option_map (fun x => finish a x (attend a (query a t x)
                 (last_n (window a) (firstn t (at_positions (key_value a) 1 xs))))) (lookup xs t).
  Proof.
    unfold base_step. rewrite fill_attention, lookup_at_positions. reflexivity.
  Qed.

  (* One layer's base row at t is decided by the rows at t-w+1 .. t. *)
  Lemma base_step_local a xs ys t :
    length xs = length ys ->
    (forall j, t - (window a - 1) <= j <= t -> lookup xs j = lookup ys j) ->
    lookup (base_step (attention_layer a) [] xs) t = lookup (base_step (attention_layer a) [] ys) t.
  Proof.
    intros Hl H. rewrite !lookup_base_step, <- (H t) by lia.
    destruct (lookup xs t) eqn:Ex; simpl; auto. apply lookup_bound in Ex. do 3 f_equal.
    apply last_n_firstn_ext; rewrite ?at_positions_length; auto; [|lia].
    intros j Hj. rewrite !lookup_at_positions, H by lia. reflexivity.
  Qed.

  Lemma base_rows_local ls xs ys t copies copies' :
    length xs = length ys -> (forall j, t - reach ls <= j <= t -> lookup xs j = lookup ys j) ->
    lookup (base_rows (run (map attention_layer ls) (no_caches ls) xs copies)) t =
    lookup (base_rows (run (map attention_layer ls) (no_caches ls) ys copies')) t.
  Proof.
    revert xs ys copies copies'. induction ls as [|a ls IH]; intros xs ys copies copies' Hl H;
      simpl in *.
    - apply H; lia.
    - apply IH; [now rewrite !base_step_length|]. intros j Hj.
      apply base_step_local; auto. intros i Hi. apply H. lia.
  Qed.

  (* Layer l's cache entry at t is decided by the rows that enter that layer, and so by the tokens
     within the reach of the layers below it. *)
  Lemma cache_entry_local ls xs ys t l copies copies' :
    length xs = length ys ->
    (forall j, t - reach (firstn l ls) <= j <= t -> lookup xs j = lookup ys j) ->
    lookup (nth l (new_caches (run (map attention_layer ls) (no_caches ls) xs copies)) []) t =
    lookup (nth l (new_caches (run (map attention_layer ls) (no_caches ls) ys copies')) []) t.
  Proof.
    revert l xs ys copies copies'.
    induction ls as [|a ls IH]; intros [|l] xs ys copies copies' Hl H; auto.
    - cbn [map run new_caches nth no_caches]. rewrite !fill_attention.
      cbn [app length]. rewrite !lookup_at_positions, H by lia. reflexivity.
    - cbn [map run new_caches nth no_caches]. apply IH; [now rewrite !base_step_length|].
      intros j Hj. apply base_step_local; auto. intros i Hi. apply H. cbn [firstn reach fold_right].
      unfold reach in Hj. lia.
  Qed.

  (* A model whose layers are all attention layers. *)
  Definition attention_model (emb copy_emb : Token -> X) ls (hd : X -> Logit) :=
    {| embed := emb; embed_copy := copy_emb; layers := map attention_layer ls; head := hd |}.

  Variables (emb copy_emb : Token -> X) (hd : X -> Logit).
  Let M ls := attention_model emb copy_emb ls hd.

  Lemma start_caches ls : caches (start (M ls)) = no_caches ls.
  Proof. unfold start, no_caches; simpl. rewrite map_map. reflexivity. Qed.

  (* The base state at t after all layers ignores every token before t minus the layers' reach. *)
  Theorem base_state_ignores_tokens_out_of_reach ls toks toks' t outs outs' :
    length toks = length toks' ->
    (forall j, t - reach ls <= j <= t -> lookup toks j = lookup toks' j) ->
    lookup (hidden (forward (M ls) (start (M ls)) toks outs)) t =
    lookup (hidden (forward (M ls) (start (M ls)) toks' outs')) t.
  Proof.
    intros Hl H. unfold forward. cbn [hidden]. rewrite start_caches. apply base_rows_local.
    - now rewrite !map_length.
    - intros j Hj. rewrite !lookup_map. f_equal. auto.
  Qed.

  Lemma reach_uniform w ls :
    (forall a, In a ls -> window a = w) -> reach ls = length ls * (w - 1).
  Proof.
    induction ls as [|a ls IH]; simpl; intro H; [reflexivity|]. rewrite (H a), IH; auto.
  Qed.

  (* With one window w everywhere, the base state at t after l layers depends on no other token than
     the last l(w-1) + 1, those at t - l(w-1) .. t. *)
  Theorem base_state_depends_on_last_tokens_only w ls toks toks' t outs outs' :
    (forall a, In a ls -> window a = w) -> length toks = length toks' ->
    (forall j, t - length ls * (w - 1) <= j <= t -> lookup toks j = lookup toks' j) ->
    lookup (hidden (forward (M ls) (start (M ls)) toks outs)) t =
    lookup (hidden (forward (M ls) (start (M ls)) toks' outs')) t.
  Proof.
    intros Hw Hl H. apply base_state_ignores_tokens_out_of_reach; auto.
    now rewrite (reach_uniform w).
  Qed.

  (* Layer l's cache entry at t (layers counted from 0) depends on no other token than those at
     t - l(w-1) .. t, whatever is output. *)
  Theorem cache_entry_depends_on_last_tokens_only w ls toks toks' l t outs outs' :
    (forall a, In a ls -> window a = w) -> length toks = length toks' ->
    (forall j, t - l * (w - 1) <= j <= t -> lookup toks j = lookup toks' j) ->
    lookup (nth l (caches (after (forward (M ls) (start (M ls)) toks outs))) []) t =
    lookup (nth l (caches (after (forward (M ls) (start (M ls)) toks' outs'))) []) t.
  Proof.
    intros Hw Hl H. unfold forward. cbn [after caches]. rewrite start_caches.
    apply cache_entry_local; [now rewrite !map_length|]. intros j Hj. rewrite !lookup_map. f_equal.
    apply H. destruct (Nat.le_gt_cases l (length ls)) as [Hle|Hgt].
    - rewrite (reach_uniform w), firstn_length_le in Hj; auto.
      intros a Ha. apply Hw. rewrite <- (firstn_skipn l ls). apply in_or_app; auto.
    - rewrite firstn_all2, (reach_uniform w) in Hj by (auto; lia). nia.
  Qed.
End Window.
