// Questions over costs: break-even, plans, training budgets, closed loops.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "reference/spec/input_error.hpp"
#include "sim/break_even.hpp"
#include "sim/closed_loop.hpp"
#include "sim/plan.hpp"
#include "sim/size_range.hpp"
#include "sim/training.hpp"
#include "tests/sim/specs.hpp"

namespace orthros {
namespace {

using test::preset;

StepCost cost_of(const char* architecture, const char* profile = "sglang-triton-h100") {
  return {count_model(preset("qwen3-8b", architecture)),
          {},
          load_profile(profile),
          load_hardware("h100-sxm")};
}

TEST(sim_questions, break_even_output_still_pays_and_one_more_does_not) {
  const StepCost transformer = cost_of("transformer");
  const StepCost orthros = cost_of("orthros");
  const Hardware hardware = load_hardware("h100-sxm");
  const auto gain = [&](int64_t output) {
    const CostRequest request{131072, output, 2};
    return cost_point(transformer, hardware, request).latency.e2e_s /
           cost_point(orthros, hardware, request).latency.e2e_s;
  };
  const auto output = break_even_output(transformer, orthros, 131072, 2, 1.5, 1 << 20);
  ASSERT_TRUE(output.has_value());
  EXPECT_GE(gain(*output), 1.5);
  EXPECT_LT(gain(*output + 1), 1.5);
  EXPECT_FALSE(break_even_output(transformer, orthros, 131072, 2, 100.0, 1 << 20).has_value());
}

TEST(sim_questions, doubled_rows_are_free_below_the_batch_that_is_given) {
  const StepCost transformer = cost_of("transformer", "ideal");
  const StepCost orthros = cost_of("orthros", "ideal");
  const auto ratio = [&](int64_t batch) {
    const auto step = [&](const StepCost& cost) {
      return cost.decode_seconds(uniform_decode(cost.model(), batch, 1000), 1);
    };
    return step(orthros) / step(transformer);
  };
  const auto batch = doubled_rows_batch(transformer, orthros, 1000, 0.05, 4096);
  ASSERT_TRUE(batch.has_value());
  EXPECT_GT(ratio(*batch), 1.05);
  EXPECT_LE(ratio(*batch - 1), 1.05);
}

TEST(sim_questions, training_repays_itself_where_serving_saves) {
  const CountModel transformer = count_model(preset("qwen3-8b", "transformer"));
  const CountModel orthros = count_model(preset("qwen3-8b", "orthros"));
  const auto requests = repaying_requests(orthros, transformer, 131072, 128, 80e9, 32768);
  ASSERT_TRUE(requests.has_value());
  // 80e9 tokens x .539 of the Transformer's training, against a prefill that saves 1 - 1/3.76.
  const double extra = 80e9 * 0.539 * pretrain_flops_per_token(transformer, 32768);
  const double saved =
      2.0 * static_cast<double>(prefill_macs(transformer, 131072, RecurrentForm::chunkwise)) *
      (1.0 - 1.0 / 3.76);
  EXPECT_NEAR(*requests, extra / saved, 0.01 * *requests);  // ratios of three digits
  EXPECT_FALSE(repaying_requests(orthros, transformer, 16, 4096, 80e9, 32768).has_value());
}

RC_GTEST_PROP(sim_questions, training_counts_are_forwards_at_explicit_positions, ()) {
  const CountModel model = count_model(test::random_spec());
  const auto prompt = *rc::gen::inRange<int64_t>(1, 40);
  const auto answer = *rc::gen::inRange<int64_t>(0, 40);
  const auto form = RecurrentForm::recurrent;
  std::vector<int64_t> all, predicting;
  for (int64_t p = 1; p <= prompt + answer; ++p) all.push_back(p);
  for (int64_t p = prompt; p <= prompt + answer; ++p) predicting.push_back(p);
  RC_ASSERT(pretrain_forward_macs(model, prompt + answer, form) ==
            forward_macs(model, 0, prompt + answer, all, form));
  RC_ASSERT(finetune_forward_macs(model, prompt, answer, form) ==
            forward_macs(model, 0, prompt + answer, predicting, form));
}

TEST(sim_questions, no_plan_on_the_front_is_beaten_by_another) {
  const CountModel model = count_model(preset("qwen3-8b", "orthros"));
  std::vector<Plan> plans;
  for (const char* hardware : {"h100-sxm", "l40s"}) {
    const auto more = plans_for("orthros", model, load_profile("fa3-h100"), load_hardware(hardware),
                                {30000, 300, 5.0}, {2.0, 0.05, 0.8});
    plans.insert(plans.end(), more.begin(), more.end());
  }
  rank_plans(plans);
  ASSERT_GT(plans.size(), 10u);
  for (const Plan& plan : plans) {
    bool beaten = false;
    for (const Plan& other : plans) {
      const bool as_good = other.dollars_per_hour <= plan.dollars_per_hour &&
                           other.tpot_s <= plan.tpot_s && other.ttft_s <= plan.ttft_s;
      const bool better = other.dollars_per_hour < plan.dollars_per_hour ||
                          other.tpot_s < plan.tpot_s || other.ttft_s < plan.ttft_s;
      beaten = beaten || (as_good && better);
    }
    EXPECT_EQ(plan.pareto, !beaten);
    EXPECT_GE(0.8 * plan.requests_per_s * static_cast<double>(plan.replicas), 5.0 * (1.0 - 1e-12));
  }
}

TEST(sim_questions, one_client_alone_sees_what_cost_says) {
  const StepCost cost = cost_of("orthros");
  const CostLatency alone = cost_point(cost, load_hardware("h100-sxm"), {5000, 200, 1}).latency;
  const ClosedLoopTimes times = closed_loop(cost, {}, {1, 5000, 200});
  // The same sums, added up event by event.
  EXPECT_NEAR(times.ttft_s, alone.ttft_s, 1e-10 * alone.e2e_s);
  EXPECT_NEAR(times.e2e_s, alone.e2e_s, 1e-10 * alone.e2e_s);
  EXPECT_NEAR(times.tpot_s, *alone.tpot_s, 1e-10 * alone.e2e_s);
}

TEST(sim_questions, a_slow_front_end_bounds_the_rate_of_tokens) {
  const StepCost cost = cost_of("transformer", "ideal");
  ServingSoftware serving;
  serving.stream_token_s = 1e-3;
  const ClosedLoop load{32, 512, 100};
  const ClosedLoopTimes times = closed_loop(cost, serving, load);
  // Little: 32 clients in e2e seconds each get 100 tokens, of which the front end streams 1000/s.
  EXPECT_GE(times.e2e_s, 32 * 100 * 1e-3 * 0.95);
}

TEST(sim_questions, ranges_hold_both_ends_where_they_are_met) {
  EXPECT_EQ(parse_size_ranges("--input", "1K:4K:x2,7"),
            (std::vector<int64_t>{1024, 2048, 4096, 7}));
  EXPECT_EQ(parse_size_ranges("--batch", "1:9:+4"), (std::vector<int64_t>{1, 5, 9}));
  EXPECT_EQ(parse_size_ranges("--batch", "1:8:+4"), (std::vector<int64_t>{1, 5}));
  for (const char* bad : {"", "1:2", "1:2:", "1:2:3", "2:1:+1", "1:2:x1", "1:2:+0", "0:9:x2",
                          "0:8388607T:+1", "1:2:x2:x2"}) {
    EXPECT_THROW(parse_size_ranges("--input", bad), InputError) << bad;
  }
}

}  // namespace
}  // namespace orthros
