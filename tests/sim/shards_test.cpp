// Sequences over the ranks of a deployment: what each runs, holds and hands on, against figures
// worked by hand, the engine's own plan of shards and its runs on two GPUs.
#include "sim/shards.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cuda/layout/shard_plan.hpp"
#include "reference/spec/input_error.hpp"
#include "reference/spec/json_fields.hpp"
#include "reference/spec/scenario_files.hpp"
#include "sim/cost.hpp"
#include "sim/measured_runs.hpp"
#include "sim/validation.hpp"
#include "tests/sim/specs.hpp"

namespace orthros {
namespace {

using test::preset;

constexpr int64_t reach = 36 * 127;  // of Qwen3-8B's layers, w = 128

Deployment over(int64_t ranks, LeftContext left_context = LeftContext::recompute) {
  Deployment to;
  to.sequence_parallel = ranks;
  to.left_context = left_context;
  return to;
}

StepCost engine_cost(const Deployment& to, const char* arch = "orthros",
                     const char* profile = "orthros-h200") {
  return StepCost(run_model(load_model_spec("qwen3-8b"), arch), to, load_profile(profile),
                  load_hardware("h200"));
}

RC_GTEST_PROP(sim_shards, the_longest_run_is_that_of_the_engines_plan, ()) {
  const auto tokens = *rc::gen::inRange<int64_t>(1, 60'000);
  const auto ranks = *rc::gen::inRange<int64_t>(1, 12);
  const auto back = *rc::gen::inRange<int64_t>(0, 6000);
  ShardRun longest;
  for (const cuda::RankShard& shard : cuda::plan_ranks(tokens, ranks, back, true)) {
    if (shard.empty() || shard.end - shard.from < longest.tokens) continue;
    longest = {shard.from, shard.end - shard.from};
  }
  const ShardRun run = longest_run(tokens, ranks, back);
  RC_ASSERT(run.from == longest.from);
  RC_ASSERT(run.tokens == longest.tokens);
}

TEST(sim_shards, two_shards_of_256k_run_as_worked_by_hand) {
  // (262144 + 4572) / 2 = 133358 tokens are 261 splits, 133632; the other shard begins 4572 before
  // that, from the split at 129024, and runs 133120.
  const ShardRun run = longest_run(262'144, 2, reach);
  EXPECT_EQ(run.from, 0);
  EXPECT_EQ(run.tokens, 133'632);
  // Not longer than the reach: the first rank runs all.
  EXPECT_EQ(longest_run(reach, 8, reach).tokens, reach);

  // 35 layers run all of those rows and the last none of them; the one output row runs through 36.
  int64_t flops = 0;
  for (const CostOp& line : cost_ops(engine_cost(over(2)), {262'144, 1, 1})) {
    if (line.op.name == "gate_up_proj") flops += line.flops;
  }
  EXPECT_EQ(flops, (35 * int64_t{133'632} + 36) * 2 * 4096 * (2 * 12'288));
}

TEST(sim_shards, a_rank_holds_its_left_context_too) {
  const CountModel model = count_model(preset("qwen3-8b", "orthros"));
  EXPECT_EQ(model.reach, reach);
  EXPECT_EQ(memory_of(model, over(2), 1, 262'144).kv, 133'358 * 147'456LL);
  EXPECT_EQ(memory_of(model, over(2, LeftContext::receive), 1, 262'144).kv, 131'072 * 147'456LL);
  EXPECT_EQ(memory_of(model, over(8), 1, 1000).kv, 1000 * 147'456LL);
}

TEST(sim_shards, full_attention_holds_its_share_and_waits_for_each_passes_new_keys_or_for_a_ring) {
  const CountModel model = count_model(preset("qwen3-8b", "transformer"));
  EXPECT_EQ(memory_of(model, over(2), 1, 262'144).kv, 131'072 * 147'456LL);
  EXPECT_EQ(memory_of(model, over(2, LeftContext::receive), 1, 262'144).kv, 131'072 * 147'456LL);
  const auto moved = [](LeftContext left_context, const char* name) {
    int64_t bytes = 0;
    for (const CostOp& line :
         cost_ops(engine_cost(over(2, left_context), "transformer"), {65'536, 1, 1})) {
      if (line.op.name == name) bytes += line.bytes;
    }
    return bytes;
  };
  // In passes of 2 x 8192 a rank of two sends half of 16384, 32768, 49152 and 65536 tokens' keys
  // and values round a ring, 4096 bytes each, of the 35 layers whose base rows attend. In the
  // engine, which sends those of all 36, a pass waits for its own 16384 alone.
  EXPECT_EQ(moved(LeftContext::recompute, "share_kv"), 36 * 4 * 8192 * 4096LL);
  EXPECT_EQ(moved(LeftContext::receive, "ring_kv"), 35 * 81'920 * 4096LL);
}

TEST(sim_shards, the_last_rank_of_a_round_sees_the_most_keys) {
  // Rounds of 2 x 8192 rows over 32768: the second rank's rows see 8192 to 16384 keys, then 24576
  // to 32768; 35 layers, since the last one's rows but one are dead, which sees all.
  const int128 pairs = causal_pairs(8192, 8192, no_window) + causal_pairs(24'576, 8192, no_window);
  EXPECT_EQ(static_cast<int64_t>(pairs), 2 * (8192LL * 8193 / 2) + 8192LL * (8192 + 24'576));
  int64_t flops = 0;
  for (const CostOp& line : cost_ops(engine_cost(over(2), "transformer"), {32'768, 1, 1})) {
    if (line.op.name == "attention") flops += line.flops;
  }
  EXPECT_EQ(flops, 4 * 4096 * (35 * static_cast<int64_t>(pairs) + 32'768));
}

std::map<std::string_view, Op> decode_ops(const Deployment& to, int64_t n) {
  const CountModel model = count_model(preset("qwen3-8b", "orthros"));
  std::vector<Op> ops;
  append_ops(model, to, {}, uniform_decode(model, 1, n), ops);
  std::map<std::string_view, Op> by_name;
  for (const Op& op : ops) by_name[op.name] = op;
  return by_name;
}

TEST(sim_shards, a_decode_step_reads_its_share_and_hands_on_partials_as_worked_by_hand) {
  // At 262145 keys the first of two ranks holds (262145 + 4572) / 2 = 133358.5: 4096 bytes of KV
  // each, and one row of 4096 queries, of 2 bytes.
  auto ops = decode_ops(over(2), 262'145);
  EXPECT_EQ(ops["dual_attention"].bytes_read, 546'236'416 + 8192);
  EXPECT_EQ(ops["dual_attention"].bytes_growth, 4096 / 2);
  // Its splits' partials for 16 of 32 heads, each 128 + 2 numbers of 4 bytes:
  // 133358.5 / 512 x 16 x 520 = 2167075.6.
  EXPECT_EQ(ops["exchange_partials"].bytes(), 2'167'075);
  // All splits of 16 heads are folded: 262145 / 512 x 16 x 520 = 4259856.25; 16 x 128 results.
  EXPECT_EQ(ops["merge_partials"].bytes_read, 4'259'856);
  EXPECT_EQ(ops["exchange_heads"].bytes(), 16 * 128 * 2);
  EXPECT_EQ(ops["exchange_heads"].count, 36);
  // Over eight, 7 / 8 of the heads go to others: (262145 + 7 x 4572) / 8 = 36768.625 keys,
  // / 512 x 28 x 520 = 1045607.8.
  EXPECT_EQ(decode_ops(over(8), 262'145)["exchange_partials"].bytes(), 1'045'607);
  // More ranks than heads: whoever folds a head receives it from 63 others,
  // 63 x (262145 + 63 x 4572) / 64 / 512 x 520 = 550046 bytes.
  EXPECT_EQ(decode_ops(over(64), 262'145)["exchange_partials"].bytes(), 550'046);
  // One GPU exchanges nothing, and weights are read by every rank.
  auto alone = decode_ops({}, 262'145);
  EXPECT_FALSE(alone.contains("exchange_partials"));
  EXPECT_EQ(alone["gate_up_proj"].bytes(), ops["gate_up_proj"].bytes());
}

TEST(sim_shards, within_the_reach_one_rank_holds_everything) {
  EXPECT_EQ(decode_ops(over(8), 1000)["dual_attention"].bytes_read,
            decode_ops({}, 1000)["dual_attention"].bytes_read);
  EXPECT_LT(decode_ops(over(8, LeftContext::receive), 1000)["dual_attention"].bytes_read,
            decode_ops({}, 1000)["dual_attention"].bytes_read / 7);
}

RC_GTEST_PROP(sim_shards, decode_over_shards_in_closed_form_equals_token_by_token, ()) {
  const StepCost cost = engine_cost(over(*rc::gen::inRange<int64_t>(2, 9)));
  const auto batch = *rc::gen::inRange<int64_t>(1, 9);
  const auto first = *rc::gen::inRange<int64_t>(reach - 100, reach + 100);
  const auto steps = *rc::gen::inRange<int64_t>(0, 200);
  double loop = 0.0;
  for (int64_t n = first; n < first + steps; ++n) {
    loop += cost.seconds({}, uniform_decode(cost.model(), batch, n));
  }
  // Bytes are rounded down in a step and in its growth: each of at most four ops a layer is off by
  // at most a byte and one for each step, at the link's 353 GB/s or faster.
  const auto n = static_cast<double>(steps);
  const double rounding = 36 * 4 * n * (n + 1.0) / 353e9 + 1e-11 * loop;
  RC_ASSERT(std::abs(cost.uniform_decode_seconds(batch, first, steps) - loop) <= rounding);
}

RC_GTEST_PROP(sim_shards, the_table_of_ops_sums_to_the_points_seconds, ()) {
  const StepCost cost =
      engine_cost(over(*rc::gen::inRange<int64_t>(1, 9),
                       *rc::gen::element(LeftContext::recompute, LeftContext::receive)));
  const CostRequest request{*rc::gen::inRange<int64_t>(1, 100'000),
                            *rc::gen::inRange<int64_t>(0, 60), *rc::gen::inRange<int64_t>(1, 4)};
  double seconds = 0.0;
  for (const CostOp& line : cost_ops(cost, request)) seconds += line.seconds;
  const double point = cost_point(cost, load_hardware("h200"), request).latency.e2e_s;
  // A few hundred terms in another order.
  RC_ASSERT(std::abs(seconds - point) <= 1e-11 * seconds);
}

RC_GTEST_PROP(sim_shards, more_ranks_are_faster_and_running_context_again_costs_more, ()) {
  const auto input = *rc::gen::inRange<int64_t>(65'536, 1'048'577);
  const auto ranks = *rc::gen::inRange<int64_t>(2, 9);
  const auto prefill = [&](int64_t n, LeftContext left_context) {
    return engine_cost(over(n, left_context)).prefill_seconds(1, input);
  };
  const double again = prefill(ranks, LeftContext::recompute);
  RC_ASSERT(again > prefill(ranks, LeftContext::receive));
  RC_ASSERT(again < prefill(ranks - 1, LeftContext::recompute));
  // A step's attention is shared out, its weights and exchanges are not.
  const auto step = [&](int64_t n) {
    return engine_cost(over(n)).uniform_decode_seconds(1, input, 1);
  };
  RC_ASSERT(step(ranks) > step(1) / static_cast<double>(ranks));
}

TEST(sim_shards, a_decode_step_over_dealt_splits_reads_its_share_on_every_rank) {
  const CountModel model = count_model(preset("qwen3-8b", "transformer"));
  const auto ops_over = [&](const Deployment& to) {
    std::vector<Op> ops;
    append_ops(model, to, {}, uniform_decode(model, 1, 262'144), ops);
    std::map<std::string_view, Op> by_name;
    for (const Op& op : ops) by_name[op.name] = op;
    return by_name;
  };
  auto ops = ops_over(over(2));
  // Half of the keys, 4096 bytes of KV each, and a row of 4096 queries, of 2 bytes.
  EXPECT_EQ(ops["attention"].bytes_read, 131'072 * 4096LL + 8192);
  // 256 of 512 splits' partials for 16 of 32 heads, 130 numbers of 4 bytes each; 16 x 128 results.
  EXPECT_EQ(ops["exchange_partials"].bytes(), 256 * 16 * 520);
  EXPECT_EQ(ops["exchange_heads"].bytes(), 16 * 128 * 2);
  EXPECT_EQ(ops["gate_up_proj"].bytes(), ops_over({})["gate_up_proj"].bytes());
  std::vector<Op> ring;
  EXPECT_THROW(
      append_ops(model, over(2, LeftContext::receive), {}, uniform_decode(model, 1, 100), ring),
      InputError);
}

TEST(sim_shards, what_is_not_costed_over_shards_is_refused) {
  for (const char* arch : {"swa", "yoco", "gdn", "orthros-h"}) {
    const CountModel model = count_model(preset("qwen3-8b", arch));
    std::vector<Op> ops;
    const PrefillChunk chunk{1, 0, 8192, true};
    append_ops(model, over(2), {&chunk, 1}, {}, ops);
    EXPECT_FALSE(ops.empty());
    EXPECT_THROW(append_ops(model, over(2), {}, uniform_decode(model, 1, 100), ops), InputError)
        << arch;
    append_ops(model, {}, {}, uniform_decode(model, 1, 100), ops);
  }
}

TEST(sim_shards, runs_on_two_gpus_are_within_their_bounds) {
  int judged = 0;
  for (const Figure& figure : group_figures()) {
    EXPECT_TRUE(figure.within()) << figure.name << " " << figure.error();
    judged += figure.bound ? 1 : 0;
  }
  // TTFT and decode steps of Orthros' three runs and of a Transformer's at 262144 and 1048576.
  EXPECT_EQ(judged, 6 + 4);
  // It can fail: with the latency of an all-reduce in place of an exchange's.
  Profile profile = load_profile("orthros-h200");
  ASSERT_TRUE(profile.special.back().between_shards);
  profile.special.pop_back();
  const StepCost cost(run_model(load_model_spec("qwen3-8b"), "orthros"), over(2), profile,
                      load_hardware("h200"));
  EXPECT_GT(cost.uniform_decode_seconds(1, 262'145, 1), 1.08 * 0.010943);
}

TEST(sim_shards, the_latency_of_an_exchange_is_what_measured_exchanges_took) {
  double measured = 0.0;
  double predicted = 0.0;
  for (const Figure& figure : group_figures()) {
    if (!figure.fitted) continue;
    measured += *figure.reported;
    predicted += figure.predicted;
  }
  // The file's latency is rounded to 10 ns: 2 x 72 of them.
  EXPECT_NEAR(predicted, measured, 2 * 72 * 10e-9);
}

TEST(sim_shards, the_profile_through_cudnn_differs_in_prompt_attention_alone) {
  const Profile one_order = load_profile("orthros-h200");
  Profile cudnn = load_profile("orthros-h200-cudnn");
  cudnn.law(OpKind::prefill_attention) = one_order.law(OpKind::prefill_attention);
  for (const char* part : {"laws", "special_laws", "pass_tokens", "step", "serving"}) {
    EXPECT_EQ(to_json(cudnn)[part], to_json(one_order)[part]) << part;
  }
  // What its one number was fitted to: errors of up to 1.4 %, as its provenance has them rounded.
  const auto path = scenarios_folder() / "measured" / "transformer-h200.json";
  const nlohmann::json record = read_json_file(path);
  const StepCost cost = engine_cost({}, "transformer", "orthros-h200-cudnn");
  int rows = 0;
  for (const nlohmann::json& run : record["runs"]) {
    if (run["attention"] != "cuDNN 9.19.0") continue;
    const double measured = run["prefill_s"];
    EXPECT_NEAR(cost.prefill_seconds(1, run["tokens"].get<int64_t>()), measured, 0.0145 * measured);
    ++rows;
  }
  EXPECT_EQ(rows, 3);
}

}  // namespace
}  // namespace orthros
