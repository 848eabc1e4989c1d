(* A window no shorter than the sequence: base attention is full, and with equal scale-offset both
   streams are the plain Transformer. *)
From Coq Require Import List Arith Lia.
From Orthros Require Import Lists Model Layers TwoStreams Chunks Window.
Import ListNotations.

Section FullWindow.
  Context {Token X E Q A Logit : Type}.
  Implicit Types (a : Attention X E Q A) (ls : list (Attention X E Q A)).

  (* The same layer with a base stream that attends to everything at or before it. *)
  Definition full_layer a : Layer X E := {|
    entry := fun _ t x => key_value a t x;
    base_row := fun seen t x => finish a x (attend a (query a t x) seen);
    output_row := output_row (attention_layer a)
  |}.

  Lemma fill_full a c xs : fill (full_layer a) c xs = fill (attention_layer a) c xs.
  Proof. revert c; induction xs; simpl; auto. Qed.

  Lemma wide_base_step a c xs :
    length c + length xs <= window a ->
    base_step (attention_layer a) c xs = base_step (full_layer a) c xs.
  Proof.
    intro H. unfold base_step. rewrite fill_full. apply at_positions_ext. intros t x Ht. simpl.
    rewrite last_n_all; auto. rewrite firstn_length, fill_length. lia.
  Qed.

  Lemma wide_run ls cs xs copies n :
    Forall (fun c => length c = n) cs -> (forall a, In a ls -> n + length xs <= window a) ->
    run (map attention_layer ls) cs xs copies = run (map full_layer ls) cs xs copies.
  Proof.
    revert cs xs copies. induction ls as [|a ls IH]; intros [|c cs] xs copies Hc Hw; simpl; auto.
    inversion Hc as [|? ? Hn Hc']; subst.
    rewrite (wide_base_step a c xs) by (apply Hw; now left).
    replace (output_step (attention_layer a) c xs copies) with
      (output_step (full_layer a) c xs copies) by (unfold output_step; now rewrite fill_full).
    rewrite fill_full, (IH cs); auto. intros b Hb. rewrite base_step_length. apply Hw. now right.
  Qed.

  Variables (emb copy_emb : Token -> X) (hd : X -> Logit).
  Let M ls := attention_model emb copy_emb ls hd.
  Let Full ls :=
    {| embed := emb; embed_copy := copy_emb; layers := map full_layer ls; head := hd |}.

  (* While a sequence is no longer than the window, the model is the one whose base stream attends
     to everything: same caches, same rows, same logits. *)
  Theorem wide_window_is_full_attention ls s chunk outs :
    well_formed (M ls) s ->
    (forall a, In a ls -> length (tokens s) + length chunk <= window a) ->
    forward (M ls) s chunk outs = forward (Full ls) s chunk outs.
  Proof.
    intros [_ Hc] Hw. unfold forward. simpl. rewrite (wide_run ls _ _ _ (length (tokens s))); auto.
    now rewrite map_length.
  Qed.

  Lemma copies_of_all ls toks :
    copies_at (M ls) toks (seq 1 (length toks)) =
      at_positions (fun t x => (t, x)) 1 (map copy_emb toks).
  Proof.
    unfold copies_at. simpl.
    assert (G : forall pre rest, toks = pre ++ rest ->
      flat_map (fun t => match lookup toks t with Some b => [(t, copy_emb b)] | None => [] end)
        (seq (S (length pre)) (length rest)) =
      at_positions (fun t x => (t, x)) (S (length pre)) (map copy_emb rest)).
    { intros pre rest. revert pre. induction rest as [|b rest IH]; intros pre H; auto.
      cbn [length seq flat_map map at_positions].
      replace (lookup toks (S (length pre))) with (Some b).
      - simpl. f_equal. specialize (IH (pre ++ [b])). rewrite app_length, Nat.add_1_r in IH.
        apply IH. now rewrite <- app_assoc.
      - simpl. now rewrite H, nth_error_app2, Nat.sub_diag. }
    exact (G [] toks eq_refl).
  Qed.

  (* With a copy at every position and equal queries, the copies are the base rows. *)
  Lemma streams_coincide_run ls cs xs :
    cs = no_caches ls ->
    (forall a, In a ls -> length xs <= window a) ->
    (forall a, In a ls -> forall t x, query_output a t x = query a t x) ->
    let r := run (map attention_layer ls) cs xs (at_positions (fun t x => (t, x)) 1 xs) in
    output_rows r = at_positions (fun t x => (t, x)) 1 (base_rows r).
  Proof.
    intros ->. revert xs. induction ls as [|a ls IH]; intros xs Hw Hq; simpl; auto.
    replace (output_step _ _ _ _) with
      (at_positions (fun t x => (t, x)) 1 (base_step (attention_layer a) [] xs)).
    - apply IH; [|intros b Hb; apply Hq; now right].
      intros b Hb. rewrite base_step_length. apply Hw. now right.
    - unfold output_step, base_step. rewrite fill_attention. simpl.
      set (c := at_positions (key_value a) 1 xs).
      assert (Hc : length c <= window a)
        by (unfold c; rewrite at_positions_length; apply Hw; now left).
      clearbody c. clear - Hc Hq. generalize 1. induction xs as [|x xs IH]; intro m; simpl; auto.
      rewrite IH, Hq, last_n_all; auto; [|now left]. rewrite firstn_length. lia.
  Qed.

  (* With w no shorter than the sequence, one embedding and equal scale-offset, both streams
     coincide: the logits of the output copies are the head of the base rows, position by
     position. *)
  Theorem equal_streams_coincide ls toks :
    (forall b, copy_emb b = emb b) ->
    (forall a, In a ls -> length toks <= window a) ->
    (forall a, In a ls -> forall t x, query_output a t x = query a t x) ->
    let f := forward (M ls) (start (M ls)) toks (seq 1 (length toks)) in
    logits f = at_positions (fun t x => (t, hd x)) 1 (hidden f).
  Proof.
    intros He Hw Hq f. unfold f, forward, M. cbn [logits hidden]. rewrite start_caches.
    cbn [tokens start app attention_model embed layers head].
    fold (M ls). rewrite copies_of_all, (map_ext _ _ He).
    pose proof (streams_coincide_run ls _ (map emb toks) eq_refl) as S. cbv zeta in S.
    rewrite S by (rewrite ?map_length; auto).
    generalize (base_rows (run (map attention_layer ls) (no_caches ls) (map emb toks)
      (at_positions (fun t x => (t, x)) 1 (map emb toks)))).
    generalize 1. intros m rows. revert m. induction rows as [|x rows IH]; intro m; simpl; auto.
    now rewrite IH.
  Qed.
End FullWindow.
