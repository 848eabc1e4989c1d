(* Recurrent layers: output reads leave the state alone, and chunks do not matter. *)
From Coq Require Import List Arith Lia.
From Orthros Require Import Lists Model Layers TwoStreams.
Import ListNotations.

Section RecurrentLayer.
  Context {X State A : Type}.
  Variable r : Recurrent X State A.

  (* The state after some tokens, one update a token. *)
  Definition state_after (s : State) (xs : list X) : State := fold_left (update r) xs s.

  (* The base stream's reads, token by token: each after its token's update. *)
  Fixpoint base_reads (s : State) (xs : list X) : list A :=
    match xs with
    | [] => []
    | x :: rest => read_base r (update r s x) x :: base_reads (update r s x) rest
    end.

  (* A serving step as an engine runs it: the state is the only memory; copies are pairs of how many
     of the chunk's tokens they follow and their row. It returns the state, the base reads and the
     copies' reads. *)
  Definition serve (s : State) (xs : list X) (copies : list (nat * X)) : State * list A * list A :=
    (state_after s xs, base_reads s xs,
     map (fun '(n, x) => read_output r (state_after s (firstn n xs)) x) copies).

  (* Output reads leave the state and the base reads untouched: any copies, or none. *)
  Theorem output_reads_leave_states_untouched s xs copies copies' :
    fst (serve s xs copies) = fst (serve s xs copies').
  Proof. reflexivity. Qed.

  (* Two chunks in turn: the second starts from the state that the first left. *)
  Theorem recurrent_chunks s xs ys :
    state_after s (xs ++ ys) = state_after (state_after s xs) ys /\
    base_reads s (xs ++ ys) = base_reads s xs ++ base_reads (state_after s xs) ys.
  Proof.
    split; [apply fold_left_app|].
    revert s. induction xs as [|x xs IH]; intro s; simpl; auto. now rewrite IH.
  Qed.

  (* Any chunking equals token by token. *)
  Theorem recurrent_any_chunking s chunks :
    fold_left state_after chunks s = state_after s (concat chunks).
  Proof.
    revert s. induction chunks as [|c chunks IH]; intro s; simpl; auto.
    rewrite IH. unfold state_after. now rewrite fold_left_app.
  Qed.

  (* The recurrent layer of the model is this machine: entry t of its cache is the state after token
     t, so the model's theorems on chunks and streams speak of it. *)
  Theorem recurrent_cache_holds_states xs t :
    1 <= t <= length xs ->
    lookup (fill (recurrent_layer r) [] xs) t = Some (state_after (initial r) (firstn t xs)).
  Proof.
    intro Ht.
    assert (G : forall c s, last c (initial r) = s ->
      forall n, n < length xs ->
      nth_error (fill (recurrent_layer r) c xs) (length c + n) =
      Some (state_after s (firstn (S n) xs))).
    { clear Ht. induction xs as [|x xs IH]; intros c s Hs n Hn; simpl in Hn; [lia|].
      simpl fill. rewrite Hs. destruct n as [|n].
      - destruct (fill_extends (recurrent_layer r) (c ++ [update r s x]) xs) as [new ->].
        rewrite Nat.add_0_r, <- app_assoc, nth_error_app2, Nat.sub_diag by lia. reflexivity.
      - specialize (IH (c ++ [update r s x]) (update r s x) (last_last _ _ _) n ltac:(lia)).
        rewrite app_length in IH. simpl in IH.
        replace (length c + S n) with (length c + 1 + n) by lia. exact IH. }
    destruct t as [|t]; [lia|]. exact (G [] (initial r) eq_refl t ltac:(lia)).
  Qed.
End RecurrentLayer.
