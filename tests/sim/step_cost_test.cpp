// Step costs: closed forms over runs of steps equal the steps one by one.
#include "sim/step_cost.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "tests/sim/specs.hpp"

namespace orthros {
namespace {

using test::preset;

// Sums of at most a few hundred positive terms, each rounded to 2^-53 and taken in another order:
// far below this.
constexpr double sum_rounding = 1e-11;

RC_GTEST_PROP(sim_step_cost, a_laws_sum_equals_its_steps, ()) {
  Law law;
  law.launch_s = *rc::gen::inRange(0, 100) * 1e-6;
  law.rate = *rc::gen::inRange(1, 100) * 1e9;
  law.bandwidth = *rc::gen::inRange(1, 100) * 1e9;
  law.per_sequence_s = *rc::gen::inRange(0, 100) * 1e-7;
  law.overlap_loss = *rc::gen::inRange(0, 11) / 10.0;
  law.window_overread = *rc::gen::inRange(0, 100);
  double end = 0.0;
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    end += *rc::gen::inRange(1, 3000) * 1e3;
    law.tiers.push_back({end, *rc::gen::inRange(1, 100) * 1e9});
  }
  Op op;
  op.kind = OpKind::decode_attention;
  op.sequences = *rc::gen::inRange<int64_t>(1, 50);
  op.flops = *rc::gen::inRange<int64_t>(0, 1'000'000);
  op.bytes_read = *rc::gen::inRange<int64_t>(0, 1'000'000);
  op.overread_bytes = *rc::gen::inRange<int64_t>(0, 1'000);
  op.flops_growth = *rc::gen::inRange<int64_t>(0, 100'000);
  op.bytes_growth = *rc::gen::inRange<int64_t>(0, 100'000);
  const auto steps = *rc::gen::inRange<int64_t>(1, 300);
  double loop = 0.0;
  Op at = op;
  for (int64_t i = 0; i < steps; ++i) {
    loop += law.seconds(at);
    at.flops += op.flops_growth;
    at.bytes_read += op.bytes_growth;
  }
  RC_ASSERT(std::abs(law.sum_seconds(op, steps) - loop) <= sum_rounding * loop);
}

TEST(sim_step_cost, shards_past_a_host_speak_over_the_network_and_tensor_groups_over_the_link) {
  Hardware hardware = load_hardware("h200");
  hardware.largest_group = 8;
  const Profile profile = load_profile("orthros-h200");
  const Law group = *profile.law(OpKind::communication);
  const Law shards_law = profile.special.back().law;
  ASSERT_TRUE(profile.special.back().between_shards);
  Op op;
  op.kind = OpKind::communication;
  op.sequences = 1;
  op.bytes_written = 1'000'000;
  const auto seconds = [&](int64_t shards, bool between_shards) {
    Deployment deployment;
    deployment.tensor_parallel = 4;
    deployment.sequence_parallel = shards;
    op.between_shards = between_shards;
    return StepCost(count_model(preset("qwen3-8b", "orthros")), deployment, profile, hardware)
        .op_seconds(op);
  };
  const auto over_link = [&](const Law& law) {
    return 1e6 / (law.bandwidth * hardware.link_bandwidth) + law.latency_s +
           hardware.link_latency_s;
  };
  const double network = 1e6 / (shards_law.bandwidth * hardware.network_bandwidth) +
                         shards_law.latency_s + hardware.network_latency_s;
  constexpr double rounding = 1e-15;  // a few operations on numbers of 1e-4
  EXPECT_NEAR(seconds(2, true), over_link(shards_law), rounding);
  EXPECT_NEAR(seconds(3, true), network, rounding);
  EXPECT_NEAR(seconds(3, false), over_link(group), rounding);
  EXPECT_GT(network, 1.2 * over_link(shards_law));
}

RC_GTEST_PROP(sim_step_cost, decode_in_closed_form_equals_token_by_token, ()) {
  const StepCost cost(count_model(test::random_spec()), {}, load_profile("sglang-triton-h100"),
                      load_hardware("h100-sxm"));
  const auto batch = *rc::gen::inRange<int64_t>(1, 9);
  const auto first = *rc::gen::inRange<int64_t>(1, 20);
  const auto steps = *rc::gen::inRange<int64_t>(0, 60);
  double loop = 0.0;
  for (int64_t n = first; n < first + steps; ++n) {
    loop += cost.seconds({}, uniform_decode(cost.model(), batch, n));
  }
  const double closed = cost.uniform_decode_seconds(batch, first, steps);
  RC_ASSERT(std::abs(closed - loop) <= sum_rounding * loop);
}

RC_GTEST_PROP(sim_step_cost, a_ragged_load_grows_as_its_sequences_do, ()) {
  const CountModel model = count_model(test::random_spec());
  auto contexts = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(1, 30)));
  const DecodeLoad load = decode_load(model, contexts);
  const int64_t steps = std::min<int64_t>(load.steady_steps, *rc::gen::inRange<int64_t>(0, 40));
  for (int64_t& n : contexts) n += steps;
  const DecodeLoad later = decode_load(model, contexts);
  const DecodeLoad grown = load.after(steps);
  RC_ASSERT(grown.sequences == later.sequences);
  RC_ASSERT(grown.keys == later.keys);
  RC_ASSERT(grown.window_keys == later.window_keys);
}

RC_GTEST_PROP(sim_step_cost, the_steps_within_a_time_are_the_most_that_fit, ()) {
  const StepCost cost(count_model(preset("qwen3-8b", "orthros")), {}, load_profile("ideal"),
                      load_hardware("h100-sxm"));
  const DecodeLoad load = uniform_decode(cost.model(), *rc::gen::inRange<int64_t>(1, 64), 1000);
  const double seconds = *rc::gen::inRange(0, 5000) * 1e-3;
  const int64_t steps = cost.decode_steps_within(load, 400, seconds);
  RC_ASSERT(cost.decode_seconds(load, steps) <= seconds);
  RC_ASSERT(steps == 400 || cost.decode_seconds(load, steps + 1) > seconds);
}

RC_GTEST_PROP(sim_step_cost, flops_of_the_table_of_ops_are_the_exact_counts, ()) {
  const ModelSpec spec = test::random_spec();
  const CountModel model = count_model(spec, {*rc::gen::arbitrary<bool>()});
  const PrefillChunk chunk{*rc::gen::inRange<int64_t>(1, 4), *rc::gen::inRange<int64_t>(0, 200),
                           *rc::gen::inRange<int64_t>(1, 200), *rc::gen::arbitrary<bool>()};
  const auto decoding = *rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(1, 40));
  std::vector<Op> ops;
  append_ops(model, {}, {&chunk, 1}, decode_load(model, decoding), ops);
  int64_t flops = 0;
  for (const Op& op : ops) flops += op.count * op.flops;
  const int64_t end = chunk.prefix + chunk.tokens;
  int128 macs = chunk.sequences * forward_macs(model, chunk.prefix, chunk.tokens,
                                               chunk.logits ? OutputSet{1, end} : OutputSet{},
                                               RecurrentForm::chunkwise);
  for (int64_t n : decoding) {
    macs += forward_macs(model, n - 1, 1, OutputSet{1, n}, RecurrentForm::recurrent);
  }
  RC_ASSERT(flops == static_cast<int64_t>(2 * macs));
}

TEST(sim_step_cost, weights_move_once_for_both_streams_and_keys_once_for_both_reads) {
  const auto decode_bytes = [](const char* architecture, OpKind kind) {
    const CountModel model = count_model(preset("qwen3-8b", architecture));
    std::vector<Op> ops;
    append_ops(model, {}, {}, uniform_decode(model, 4, 5000), ops);
    int64_t bytes = 0;
    for (const Op& op : ops) {
      if (op.kind == kind) bytes += op.count * op.bytes_read;
    }
    return bytes;
  };
  // The second stream adds its rows' activations, far less than the weights again.
  EXPECT_LT(static_cast<double>(decode_bytes("orthros", OpKind::gemm)),
            1.01 * static_cast<double>(decode_bytes("transformer", OpKind::gemm)));
  EXPECT_EQ(decode_bytes("orthros", OpKind::decode_attention),
            decode_bytes("transformer", OpKind::decode_attention));
}

TEST(sim_step_cost, an_empty_step_takes_no_time) {
  const StepCost cost(count_model(preset("qwen3-8b", "orthros")), {},
                      load_profile("sglang-triton-h100"), load_hardware("h100-sxm"));
  EXPECT_EQ(cost.seconds({}, {}), 0.0);
  EXPECT_EQ(cost.decode_seconds({}, 5), 0.0);
}

TEST(sim_step_cost, overread_never_exceeds_full_attention) {
  Profile profile = load_profile("sglang-triton-h100");
  const auto prefill = [&](const char* architecture) {
    const StepCost cost(count_model(preset("qwen3-8b", architecture, 128)), {}, profile,
                        load_hardware("h100-sxm"));
    const PrefillChunk chunk{1, 0, 1000, true};
    return cost.seconds({&chunk, 1}, {});
  };
  // Visiting every earlier key costs what full attention costs; equal but for rounding.
  EXPECT_NEAR(prefill("swa"), prefill("transformer"), 1e-12);
}

}  // namespace
}  // namespace orthros
