(* The tensor core's step over Z: fp32 accumulator plus 16 exact bf16 products, aligned, truncated,
   summed and rounded toward zero. A block of zero products changes nothing, so key blocks that a
   window masks may be skipped or run, to the bit.

   Finite values only, exponents unbounded above; a zero is +0 (the step never makes -0). *)
From Coq Require Import List ZArith Lia.
Import ListNotations.
Local Open Scope Z_scope.

(* An fp32 number: significand x 2^(exponent - 23). *)
Record Float := { significand : Z; exponent : Z }.

(* Its one form: 24 bits, the leading one set unless the exponent is the smallest. *)
Definition in_form (x : Float) : Prop :=
  Z.abs (significand x) < 2 ^ 24 /\ -126 <= exponent x /\
  (2 ^ 23 <= Z.abs (significand x) \/ exponent x = -126).

(* An exact product of two bf16 numbers: significand x 2^(exponent - 14), its exponent the sum of
   its factors', so that a significand in [1, 4) is not renormalised. *)
Record Product := { product_significand : Z; product_exponent : Z }.

(* A term x 2^e, in whole units of 2^(top - 25), truncated toward zero. *)
Definition align (x e top : Z) : Z :=
  let shift := e - (top - 25) in
  if 0 <=? shift then x * 2 ^ shift else Z.quot x (2 ^ - shift).

(* s units of 2^(top - 25), rounded toward zero to fp32. *)
Definition round (s top : Z) : Float :=
  if s =? 0 then {| significand := 0; exponent := -126 |}
  else
    let e := Z.max (-126) (Z.log2 (Z.abs s) + top - 25) in
    let shift := (e - 23) - (top - 25) in
    {| significand := if 0 <=? shift then Z.quot s (2 ^ shift) else s * 2 ^ - shift;
       exponent := e |}.

(* The largest exponent among nonzero terms; a zero term does not enter. *)
Definition larger (significand e : Z) (top : option Z) : option Z :=
  if significand =? 0 then top
  else match top with None => Some e | Some t => Some (Z.max e t) end.

Definition largest_exponent (c : Float) (ps : list Product) : option Z :=
  fold_right (fun p => larger (product_significand p) (product_exponent p))
    (larger (significand c) (exponent c) None) ps.

(* One step: round-toward-zero of c plus the products, all aligned to the largest exponent. *)
Definition mma (c : Float) (ps : list Product) : Float :=
  match largest_exponent c ps with
  | None => {| significand := 0; exponent := -126 |}
  | Some top =>
      round (fold_right (fun p s => align (product_significand p) (product_exponent p - 14) top + s)
               (align (significand c) (exponent c - 23) top) ps) top
  end.

Definition zero_block (ps : list Product) : Prop := Forall (fun p => product_significand p = 0) ps.

Lemma align_zero e top : align 0 e top = 0.
Proof.
  unfold align. set (shift := e - (top - 25)). destruct (Z.leb_spec 0 shift); [reflexivity|].
  apply Z.quot_0_l, Z.pow_nonzero; lia.
Qed.

Lemma zero_block_exponent c ps :
  zero_block ps -> largest_exponent c ps = larger (significand c) (exponent c) None.
Proof. induction 1 as [|p ps Hp _ IH]; simpl; auto. unfold larger at 1. now rewrite Hp. Qed.

Lemma zero_block_sum c ps top :
  zero_block ps ->
  fold_right (fun p s => align (product_significand p) (product_exponent p - 14) top + s) c ps = c.
Proof. induction 1 as [|p ps Hp _ IH]; simpl; auto. now rewrite Hp, align_zero, IH. Qed.

(* A block of zero products leaves the accumulator as it was, to the bit. *)
Theorem zero_products_leave_the_accumulator c ps : in_form c -> zero_block ps -> mma c ps = c.
Proof.
  intros (Hlt & He & Hform) Hz. unfold mma. rewrite (zero_block_exponent c ps Hz). unfold larger.
  destruct c as [m e]. simpl in *. destruct (Z.eqb_spec m 0) as [->|Hm].
  - f_equal. destruct Hform as [H|H]; [simpl in H; lia|lia].
  - rewrite zero_block_sum by auto. unfold align. replace (e - 23 - (e - 25)) with 2 by lia.
    change (0 <=? 2) with true. cbv iota. change (2 ^ 2) with 4. unfold round.
    destruct (Z.eqb_spec (m * 4) 0); [lia|].
    assert (Hlog : Z.log2 (Z.abs (m * 4)) + e - 25 <= e /\
                   (2 ^ 23 <= Z.abs m -> Z.log2 (Z.abs (m * 4)) = 25)).
    { split.
      - enough (Z.log2 (Z.abs (m * 4)) < 26) by lia. apply Z.log2_lt_pow2; lia.
      - intro H. apply Z.log2_unique; lia. }
    replace (Z.max (-126) (Z.log2 (Z.abs (m * 4)) + e - 25)) with e by lia.
    replace (e - 23 - (e - 25)) with 2 by lia. change (0 <=? 2) with true. cbv iota.
    change (2 ^ 2) with 4. rewrite Z.quot_mul by lia. reflexivity.
Qed.

Lemma round_in_form s top : in_form (round s top).
Proof.
  unfold round. destruct (Z.eqb_spec s 0) as [Hs0|Hs0]; [unfold in_form; simpl; lia|].
  set (n := Z.log2 (Z.abs s)).
  destruct (Z.log2_spec (Z.abs s)) as [Hlo Hhi]; [lia|]. fold n in Hlo, Hhi.
  assert (Hn : 0 <= n) by apply Z.log2_nonneg.
  set (e := Z.max (-126) (n + top - 25)). set (shift := e - 23 - (top - 25)).
  assert (Hs : n - 23 <= shift) by lia.
  assert (Hpow : forall k, 0 <= k -> 0 < 2 ^ k) by (intros; apply Z.pow_pos_nonneg; lia).
  unfold in_form. cbn [significand exponent]. destruct (Z.leb_spec 0 shift) as [H|H].
  - rewrite <- Z.quot_abs by (specialize (Hpow shift); lia).
    rewrite (Z.abs_eq (2 ^ shift)), Z.quot_div_nonneg by (specialize (Hpow shift); lia).
    split; [|split; [lia|]].
    + apply Z.div_lt_upper_bound; [auto|]. rewrite <- Z.pow_add_r by lia.
      eapply Z.lt_le_trans; [exact Hhi|]. apply Z.pow_le_mono_r; lia.
    + destruct (Z.eq_dec e (-126)); [auto|left]. apply Z.div_le_lower_bound; [auto|].
      rewrite <- Z.pow_add_r by lia. replace (shift + 23) with n by lia. exact Hlo.
  - rewrite Z.abs_mul, (Z.abs_eq (2 ^ - shift)) by (specialize (Hpow (- shift)); lia).
    split; [|split; [lia|]].
    + apply Z.lt_le_trans with (2 ^ Z.succ n * 2 ^ - shift).
      * apply Z.mul_lt_mono_pos_r; auto. apply Hpow. lia.
      * rewrite <- Z.pow_add_r by lia. apply Z.pow_le_mono_r; lia.
    + destruct (Z.eq_dec e (-126)); [auto|left].
      apply Z.le_trans with (2 ^ n * 2 ^ - shift).
      * rewrite <- Z.pow_add_r by lia. apply Z.pow_le_mono_r; lia.
      * apply Z.mul_le_mono_nonneg_r; auto. specialize (Hpow (- shift)). lia.
Qed.

Lemma mma_in_form c ps : in_form (mma c ps).
Proof.
  unfold mma. destruct (largest_exponent c ps); [apply round_in_form|]. unfold in_form; simpl; lia.
Qed.

(* A chain of blocks gives the same accumulator with its zero blocks left out, whichever they are:
   masked key blocks may be skipped or run. run says which blocks are run. *)
Theorem masked_blocks_may_be_skipped (run : list Product -> bool) c blocks :
  in_form c -> (forall ps, run ps = false -> zero_block ps) ->
  fold_left mma (filter run blocks) c = fold_left mma blocks c.
Proof.
  intros Hc Hz. revert c Hc. induction blocks as [|ps blocks IH]; intros c Hc; simpl; auto.
  destruct (run ps) eqn:Hr; simpl.
  - apply IH, mma_in_form.
  - rewrite (zero_products_leave_the_accumulator c ps); auto.
Qed.
