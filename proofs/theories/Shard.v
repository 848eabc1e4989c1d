(* Sequence-parallel prefill: a shard of the sequence needs of its left neighbour only the last w-1
   keys and values of each layer. *)
From Coq Require Import List Arith Lia.
From Orthros Require Import Lists Model Layers Chunks.
Import ListNotations.

Section Shard.
  Context {X E Q A : Type}.
  Implicit Types (a : Attention X E Q A) (ls : list (Attention X E Q A)).

  (* One layer on a shard whose rows xs stand at n+1, n+2, ..; halo holds the entries received. *)
  Definition own_entries a (n : nat) (xs : list X) : list E := at_positions (key_value a) (S n) xs.

  Definition shard_step a (n : nat) (halo : list E) (xs : list X) : list X :=
    let local := halo ++ own_entries a n xs in
    at_positions
      (fun t x => finish a x (attend a (query a t x)
                    (last_n (window a) (firstn (length halo + (t - n)) local))))
      (S n) xs.

  (* All layers on one shard: the entries it computed, layer by layer, and its rows. *)
  Fixpoint run_shard ls (n : nat) (halos : list (list E)) (xs : list X) : list (list E) * list X :=
    match ls, halos with
    | a :: ls', halo :: halos' =>
        let r := run_shard ls' n halos' (shard_step a n halo xs) in
        (own_entries a n xs :: fst r, snd r)
    | _, _ => ([], xs)
    end.

  (* What a neighbour that holds the caches cs sends: the last w-1 entries of each layer. *)
  Fixpoint halo_of ls (cs : list (list E)) : list (list E) :=
    match ls, cs with
    | a :: ls', c :: cs' => last_n (window a - 1) c :: halo_of ls' cs'
    | _, _ => []
    end.

  Fixpoint append_all (cs own : list (list E)) : list (list E) :=
    match cs, own with
    | c :: cs', o :: own' => (c ++ o) :: append_all cs' own'
    | _, _ => []
    end.

  Lemma shard_window w (c own : list E) k :
    1 <= k <= length own ->
    last_n w (firstn (length (last_n (w - 1) c) + k) (last_n (w - 1) c ++ own)) =
    last_n w (firstn (length c + k) (c ++ own)).
  Proof.
    intro Hk. rewrite !firstn_app_2.
    destruct (Nat.le_gt_cases (length c) (w - 1)) as [H|H]; [now rewrite (last_n_all (w - 1) c)|].
    rewrite <- (firstn_skipn (length c - (w - 1)) c) at 2. fold (last_n (w - 1) c).
    rewrite <- app_assoc. symmetry. apply last_n_app.
    rewrite app_length, last_n_length, firstn_length. lia.
  Qed.

  Lemma shard_step_is_base_step a c n xs :
    length c = n ->
    shard_step a n (last_n (window a - 1) c) xs = base_step (attention_layer a) c xs.
  Proof.
    intro Hn. unfold shard_step, base_step. rewrite fill_attention, Hn. apply at_positions_ext.
    intros t x Ht. simpl. do 2 f_equal. fold (own_entries a n xs).
    rewrite shard_window by (unfold own_entries; rewrite at_positions_length; lia).
    do 2 f_equal. lia.
  Qed.

  (* A shard given its left neighbour's last w-1 keys and values per layer computes the rows and the
     cache entries that the whole computes at its positions. *)
  Theorem shard_computes_what_the_whole_does ls cs n xs :
    length cs = length ls -> Forall (fun c => length c = n) cs ->
    let whole := run (map attention_layer ls) cs xs [] in
    let shard := run_shard ls n (halo_of ls cs) xs in
    snd shard = base_rows whole /\ append_all cs (fst shard) = new_caches whole.
  Proof.
    revert cs xs. induction ls as [|a ls IH]; intros [|c cs] xs Hl Hc; try discriminate;
      simpl; auto.
    inversion Hc as [|? ? Hn Hc']; subst.
    rewrite (shard_step_is_base_step a c _ xs eq_refl).
    destruct (IH cs (base_step (attention_layer a) c xs)) as [H1 H2]; auto.
    rewrite H1, H2, fill_attention. auto.
  Qed.

  (* A neighbour whose own part is at least w-1 long sends entries of its own only: nothing comes
     from further left. *)
  Theorem halo_comes_from_the_neighbour_alone w (further own : list E) :
    w - 1 <= length own -> last_n (w - 1) (further ++ own) = last_n (w - 1) own.
  Proof. apply last_n_app. Qed.

  (* Shards in a row: each passes on the last w-1 of what it received and computed. *)
  Fixpoint run_shards ls (n : nat) (halos : list (list E)) (shards : list (list X)) : list X :=
    match shards with
    | [] => []
    | xs :: rest =>
        let r := run_shard ls n halos xs in
        snd r ++ run_shards ls (n + length xs) (halo_of ls (append_all halos (fst r))) rest
    end.

  Lemma halo_of_append ls cs own :
    length own = length cs ->
    halo_of ls (append_all (halo_of ls cs) own) = halo_of ls (append_all cs own).
  Proof.
    revert cs own. induction ls as [|a ls IH]; intros [|c cs] [|o own] H; try discriminate;
      simpl; auto.
    f_equal; [|apply IH; auto].
    unfold last_n at 1 3. rewrite !app_length, last_n_length, !skipn_app, last_n_length.
    f_equal; [|f_equal; lia].
    unfold last_n. rewrite skipn_skipn'. f_equal. lia.
  Qed.

  Lemma run_rows_app ls cs xs ys :
    base_rows (run (map attention_layer ls) cs (xs ++ ys) []) =
    base_rows (run (map attention_layer ls) cs xs []) ++
    base_rows
      (run (map attention_layer ls) (new_caches (run (map attention_layer ls) cs xs [])) ys []).
  Proof. apply run_app. Qed.

  Lemma run_shard_length ls n halos xs :
    length halos = length ls -> length (fst (run_shard ls n halos xs)) = length halos.
  Proof.
    revert halos xs. induction ls as [|a ls IH]; intros [|h halos] xs H; try discriminate;
      simpl; auto.
  Qed.

  Lemma halo_of_length ls cs : length cs = length ls -> length (halo_of ls cs) = length cs.
  Proof. revert cs. induction ls; intros [|c cs] H; try discriminate; simpl; auto. Qed.

  (* A whole sequence split into shards of any sizes, each given its left neighbour's halo, yields
     the rows of the whole. *)
  Theorem shards_in_a_row_compute_the_whole ls cs n shards :
    length cs = length ls -> Forall (fun c => length c = n) cs ->
    run_shards ls n (halo_of ls cs) shards =
    base_rows (run (map attention_layer ls) cs (concat shards) []).
  Proof.
    revert cs n. induction shards as [|xs shards IH]; intros cs n Hl Hc; simpl.
    - clear. revert cs. induction ls as [|a ls IH]; intros [|c cs]; simpl; auto.
    - destruct (shard_computes_what_the_whole_does ls cs n xs Hl Hc) as [H1 H2].
      rewrite run_rows_app, H1. f_equal. rewrite halo_of_append, H2.
      + destruct (run_well_formed (map attention_layer ls) cs xs [] n) as [L F];
          rewrite ?map_length in *; auto.
      + rewrite run_shard_length; rewrite halo_of_length; auto.
  Qed.
End Shard.
