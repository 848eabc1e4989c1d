(* FLOPs: the closed forms of the cost table equal the sums, operation by operation, that they
   summarise. A multiply-add counts 2; nothing elementwise counts. *)
From Coq Require Import List Arith ZArith Lia.
From Orthros Require Import Sums.
Import ListNotations.
Local Open Scope Z_scope.

Section Totals.
  (* Hidden width, query heads, KV heads, head width, FFN width, vocabulary, layers, window. *)
  Variables D Hq Hkv d F vocab L w : Z.
  Hypothesis window_not_negative : 0 <= w.

  (* What one row computes. *)
  Definition linear (rows columns : Z) : Z := 2 * rows * columns.
  Definition query_projection : Z := linear D (Hq * d).
  Definition key_value_projections : Z := linear D (Hkv * d) + linear D (Hkv * d).
  Definition scores (keys : Z) : Z := Hq * (2 * d * keys).
  Definition weighted_values (keys : Z) : Z := Hq * (2 * d * keys).
  Definition output_projection : Z := linear (Hq * d) D.
  Definition swiglu : Z := linear D F + linear D F + linear F D.
  Definition head_flops : Z := linear D vocab.

  (* One layer on one base row that sees so many keys; on one output copy, which has no K and V. *)
  Definition base_flops (keys : Z) : Z :=
    query_projection + key_value_projections + scores keys + weighted_values keys
    + output_projection + swiglu.
  Definition copy_flops (keys : Z) : Z :=
    query_projection + scores keys + weighted_values keys + output_projection + swiglu.

  (* A forward over m tokens after n, with logits at the positions outs (keys seen by a copy: its
     position). *)
  Definition transformer_flops (n m : nat) (outs : list Z) : Z :=
    L * sum_to m (fun i => base_flops (Z.of_nat n + i)) + sum_over (fun _ => head_flops) outs.
  Definition swa_flops (n m : nat) (outs : list Z) : Z :=
    L * sum_to m (fun i => base_flops (Z.min (Z.of_nat n + i) w))
    + sum_over (fun _ => head_flops) outs.
  Definition orthros_flops (n m : nat) (outs : list Z) : Z :=
    L * (sum_to m (fun i => base_flops (Z.min (Z.of_nat n + i) w)) + sum_over copy_flops outs)
    + sum_over (fun _ => head_flops) outs.

  (* YOCO: half of the layers are a self-decoder, whose row costs self_linear and a mixer; K and V
     are projected once; cross layers run at output positions only. half is L / 2. *)
  Variables half self_linear : Z.
  Variable mixer : Z -> Z.
  Definition yoco_flops (n m : nat) (outs : list Z) : Z :=
    half * sum_to m (fun i => self_linear + mixer (Z.of_nat n + i))
    + sum_to m (fun _ => key_value_projections)
    + half * sum_over copy_flops outs + sum_over (fun _ => head_flops) outs.

  (* The cost table's letters. *)
  Let a : Z := Hq * d.
  Let b : Z := Hkv * d.
  Let G : Z := 4 * D * a + 4 * D * b + 6 * D * F.
  Let G' : Z := 4 * D * a + 6 * D * F.
  Let h : Z := 2 * D * vocab.
  Let T_out (outs : list Z) : Z := Z.of_nat (length outs).
  Let sum_p (outs : list Z) : Z := sum_over (fun p => p) outs.

  Lemma base_flops_form keys : base_flops keys = G + 4 * a * keys.
  Proof.
    unfold base_flops, query_projection, key_value_projections, scores, weighted_values,
      output_projection, swiglu, linear, G, a, b. ring.
  Qed.

  Lemma copy_flops_form keys : copy_flops keys = G' + 4 * a * keys.
  Proof.
    unfold copy_flops, query_projection, scores, weighted_values, output_projection, swiglu, linear,
      G', a. ring.
  Qed.

  Lemma base_flops_sum m f :
    sum_to m (fun i => base_flops (f i)) = Z.of_nat m * G + 4 * a * sum_to m f.
  Proof.
    rewrite (sum_to_ext _ _ (fun i => G + 4 * a * f i)) by (intros; apply base_flops_form).
    now rewrite sum_to_add, sum_to_const, sum_to_scale.
  Qed.

  Lemma copy_flops_sum outs : sum_over copy_flops outs = T_out outs * G' + 4 * a * sum_p outs.
  Proof.
    unfold T_out, sum_p. rewrite <- sum_over_affine.
    induction outs as [|p outs IH]; [reflexivity|]. cbn [sum_over fold_right].
    f_equal; [apply copy_flops_form|exact IH].
  Qed.

  Lemma head_flops_sum outs : sum_over (fun _ : Z => head_flops) outs = h * T_out outs.
  Proof.
    induction outs as [|p outs IH]; unfold T_out in *; [simpl; lia|].
    change (sum_over (fun _ : Z => head_flops) (p :: outs)) with
      (head_flops + sum_over (fun _ : Z => head_flops) outs).
    rewrite IH. cbn [length]. rewrite Nat2Z.inj_succ. unfold h, head_flops, linear. lia.
  Qed.

  (* Transformer, prefill of T: L(T G + 4a n_T) + h T_out. *)
  Theorem transformer_prefill_total T outs :
    transformer_flops 0 T outs =
    L * (Z.of_nat T * G + 4 * a * causal_pairs (Z.of_nat T)) + h * T_out outs.
  Proof.
    unfold transformer_flops. rewrite head_flops_sum, base_flops_sum.
    rewrite (causal_chunk_pairs 0). simpl Z.of_nat. now rewrite Z.mul_0_l, Z.add_0_l.
  Qed.

  (* Transformer, decode at n keys: L(G + 4a n) + h. *)
  Theorem transformer_decode_total n :
    (1 <= n)%nat ->
    transformer_flops (n - 1) 1 [Z.of_nat n] = L * (G + 4 * a * Z.of_nat n) + h.
  Proof.
    intro Hn. unfold transformer_flops. rewrite head_flops_sum, base_flops_sum. cbn [sum_to].
    replace (Z.of_nat (n - 1) + Z.of_nat 1) with (Z.of_nat n) by lia. unfold T_out. simpl length.
    ring.
  Qed.

  (* SWA, prefill of T: L(T G + 4a n_w) + h T_out. *)
  Theorem swa_prefill_total T outs :
    swa_flops 0 T outs =
    L * (Z.of_nat T * G + 4 * a * windowed_pairs (Z.of_nat T) w) + h * T_out outs.
  Proof.
    unfold swa_flops. rewrite head_flops_sum, base_flops_sum.
    rewrite <- windowed_pairs_sum by auto. reflexivity.
  Qed.

  (* SWA, decode at n keys: L(G + 4a min(n,w)) + h. *)
  Theorem swa_decode_total n :
    (1 <= n)%nat ->
    swa_flops (n - 1) 1 [Z.of_nat n] = L * (G + 4 * a * Z.min (Z.of_nat n) w) + h.
  Proof.
    intro Hn. unfold swa_flops. rewrite head_flops_sum, base_flops_sum. cbn [sum_to].
    replace (Z.of_nat (n - 1) + Z.of_nat 1) with (Z.of_nat n) by lia. unfold T_out. simpl length.
    ring.
  Qed.

  (* Orthros, prefill of T: L(T G + 4a n_w + T_out G' + 4a sum p) + h T_out. *)
  Theorem orthros_prefill_total T outs :
    orthros_flops 0 T outs =
    L * (Z.of_nat T * G + 4 * a * windowed_pairs (Z.of_nat T) w + T_out outs * G'
         + 4 * a * sum_p outs) + h * T_out outs.
  Proof.
    unfold orthros_flops. rewrite head_flops_sum, base_flops_sum, copy_flops_sum.
    rewrite <- windowed_pairs_sum by auto.
    change (sum_to T (fun i => Z.min (Z.of_nat 0 + i) w)) with (sum_to T (fun i => Z.min i w)).
    ring.
  Qed.

  (* Orthros, decode at n keys: L(G + G' + 4a(min(n,w) + n)) + h. *)
  Theorem orthros_decode_total n :
    (1 <= n)%nat ->
    orthros_flops (n - 1) 1 [Z.of_nat n] =
    L * (G + G' + 4 * a * (Z.min (Z.of_nat n) w + Z.of_nat n)) + h.
  Proof.
    intro Hn. unfold orthros_flops. rewrite head_flops_sum, base_flops_sum, copy_flops_sum.
    cbn [sum_to]. replace (Z.of_nat (n - 1) + Z.of_nat 1) with (Z.of_nat n) by lia.
    unfold T_out, sum_p. simpl length. simpl sum_over. ring.
  Qed.

  (* Orthros, one chunk of m after n: L(m G + 4a (n_w at n + m, less n_w at n) + ..) + h T_out. *)
  Theorem orthros_chunk_total n m outs :
    orthros_flops n m outs =
    L * (Z.of_nat m * G
         + 4 * a * (windowed_pairs (Z.of_nat (n + m)) w - windowed_pairs (Z.of_nat n) w)
         + T_out outs * G' + 4 * a * sum_p outs) + h * T_out outs.
  Proof.
    unfold orthros_flops. rewrite head_flops_sum, base_flops_sum, copy_flops_sum.
    rewrite windowed_chunk_pairs by auto. ring.
  Qed.

  (* YOCO, prefill of T: L/2 (T G_self + mixer) + 4Db T + L/2 (T_out G' + 4a sum p) + h T_out, the
     mixer's part summed over positions. A windowed mixer sums to 4a n_w. *)
  Theorem yoco_prefill_total T outs :
    yoco_flops 0 T outs =
    half * (Z.of_nat T * self_linear + sum_to T mixer) + 4 * D * b * Z.of_nat T
    + half * (T_out outs * G' + 4 * a * sum_p outs) + h * T_out outs.
  Proof.
    unfold yoco_flops. rewrite head_flops_sum, copy_flops_sum, sum_to_add, !sum_to_const.
    change (sum_to T (fun i => mixer (Z.of_nat 0 + i))) with (sum_to T mixer).
    unfold key_value_projections, linear, b. ring.
  Qed.

  (* YOCO, decode at n keys: the same with T = T_out = 1 and sum p = n. *)
  Theorem yoco_decode_total n :
    (1 <= n)%nat ->
    yoco_flops (n - 1) 1 [Z.of_nat n] =
    half * (self_linear + mixer (Z.of_nat n)) + 4 * D * b
    + half * (G' + 4 * a * Z.of_nat n) + h.
  Proof.
    intro Hn. unfold yoco_flops. rewrite head_flops_sum, copy_flops_sum, sum_to_add, !sum_to_const.
    cbn [sum_to]. replace (Z.of_nat (n - 1) + Z.of_nat 1) with (Z.of_nat n) by lia.
    unfold T_out, sum_p, key_value_projections, linear, b. simpl length. simpl sum_over. ring.
  Qed.

  (* A prefill and then another forward cost what one forward over both costs: so a prefill and its
     decode steps cost a fine-tuning forward, and chunked prefill costs one shot. *)
  Theorem orthros_forwards_add_up n m m' outs outs' :
    orthros_flops n m outs + orthros_flops (n + m) m' outs' =
    orthros_flops n (m + m') (outs ++ outs').
  Proof.
    rewrite !orthros_chunk_total. unfold T_out, sum_p.
    rewrite app_length, sum_over_app, Nat.add_assoc, (Nat2Z.inj_add (length outs)),
      (Nat2Z.inj_add m m'). ring.
  Qed.
End Totals.

(* The sums at the shapes that the project quotes. *)

Definition between (low x high : Z) : Prop := low < x /\ x < high.

(* Qwen3-8B, window 128, logits at the last position: a Transformer's prefill over Orthros' is
   3.76 at 131072 tokens and 23.1 at 1048576, in the digits printed. *)
Theorem qwen3_8b_prefill_ratios :
  let transformer T := transformer_flops 4096 32 8 128 12288 151936 36 0 (Z.to_nat T) [T] in
  let orthros T := orthros_flops 4096 32 8 128 12288 151936 36 128 0 (Z.to_nat T) [T] in
  between (3755 * orthros 131072) (1000 * transformer 131072) (3765 * orthros 131072) /\
  between (2305 * orthros 1048576) (100 * transformer 1048576) (2315 * orthros 1048576).
Proof.
  cbv beta zeta. rewrite !transformer_prefill_total, !orthros_prefill_total, !Z2Nat.id by lia.
  vm_compute. auto.
Qed.

(* Llama-3.1-8B at 131072 tokens: 6.333e15 and 1.838e15 FLOPs. *)
Theorem llama_3_1_8b_prefill_flops :
  let T := 131072 in
  between (63325 * 10 ^ 11) (transformer_flops 4096 32 8 128 14336 128256 32 0 (Z.to_nat T) [T])
    (63335 * 10 ^ 11) /\
  between (18375 * 10 ^ 11) (orthros_flops 4096 32 8 128 14336 128256 32 128 0 (Z.to_nat T) [T])
    (18385 * 10 ^ 11).
Proof.
  cbv beta zeta. rewrite transformer_prefill_total, orthros_prefill_total, !Z2Nat.id by lia.
  vm_compute. auto.
Qed.
