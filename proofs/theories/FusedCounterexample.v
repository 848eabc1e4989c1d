(* Why a copy must keep its logical position and its stream: small tensors where it goes wrong. *)
From Coq Require Import List Arith.
From Orthros Require Import Lists Model Layers Fused.
Import ListNotations.

(* The smallest layer that shows it: rows are numbers, attention adds up the visible entries. *)
Definition adding_layer (w : nat) : Attention nat nat unit nat := {|
  window := w;
  key_value := fun _ x => x;
  query := fun _ _ => tt;
  query_output := fun _ _ => tt;
  attend := fun _ seen => fold_right Nat.add 0 seen;
  finish := Nat.add
|}.

(* The mistake: every row's position replaced by its index in the tensor, counted from 1. *)
Definition by_index (rows : list (Row nat)) : list (Row nat) :=
  at_positions (fun i r => {| stream := stream r; position := i; state := state r |}) 1 rows.

Definition one_layer (w : nat) (rows : list (Row nat)) : list nat :=
  map (fun r => state r) (snd (run_fused [adding_layer w] [[]] rows)).

Definition tail (second : nat) : list (Row nat) :=
  base_tensor 0 [5; second] ++ copy_tensor [(1, 5)].

(* A copy of position 1, appended after two tokens, stands at index 3: with indices as positions it
   sees the second token, so a token of the future changes its output. With logical positions it
   does not. *)
Theorem index_as_position_leaks_the_future :
  nth 2 (one_layer 2 (by_index (tail 7))) 0 <> nth 2 (one_layer 2 (by_index (tail 8))) 0 /\
  nth 2 (one_layer 2 (tail 7)) 0 = nth 2 (one_layer 2 (tail 8)) 0.
Proof. vm_compute. split; [discriminate|reflexivity]. Qed.

Definition base (t x : nat) : Row nat := {| stream := Base; position := t; state := x |}.
Definition copy (t x : nat) : Row nat := {| stream := Output; position := t; state := x |}.

(* A copy in front of a base row pushes its index past the window: with indices as positions the
   base row itself changes, and so would every later layer's cache. With logical positions it is
   the row that the tensor without the copy gives. *)
Theorem index_as_position_changes_base_rows :
  let without_copy := [base 1 5; base 2 7] in
  let with_copy := [base 1 5; copy 1 5; base 2 7] in
  nth 2 (one_layer 2 (by_index with_copy)) 0 <> nth 1 (one_layer 2 without_copy) 0 /\
  nth 2 (one_layer 2 with_copy) 0 = nth 1 (one_layer 2 without_copy) 0.
Proof. vm_compute. split; [discriminate|reflexivity]. Qed.

(* The other mistake: every row taken for a base row, so that a copy's key joins the base keys. *)
Definition forget_stream (rows : list (Row nat)) : list (Row nat) :=
  map (fun r => {| stream := Base; position := position r; state := state r |}) rows.

(* A copy whose key is seen as a base key changes the base rows that can see its position; with its
   stream kept, it changes none. *)
Theorem copy_seen_as_base_changes_base_rows :
  let without_copy := [base 1 5; base 2 7] in
  let with_copy := [base 1 5; base 2 7; copy 1 5] in
  nth 1 (one_layer 2 (forget_stream with_copy)) 0 <> nth 1 (one_layer 2 without_copy) 0 /\
  nth 1 (one_layer 2 with_copy) 0 = nth 1 (one_layer 2 without_copy) 0.
Proof. vm_compute. split; [discriminate|reflexivity]. Qed.
