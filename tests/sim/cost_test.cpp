// Costs: points agree with counts, with the table of ops and with the paper.
#include "sim/cost.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "reference/spec/input_error.hpp"
#include "sim/fit_paper.hpp"
#include "tests/sim/specs.hpp"

namespace orthros {
namespace {

using test::preset;

RC_GTEST_PROP(sim_cost, the_table_of_ops_sums_to_the_points_flops_and_seconds, ()) {
  const Hardware hardware = load_hardware("h100-sxm");
  const StepCost cost(count_model(test::random_spec()), {}, load_profile("sglang-triton-h100"),
                      hardware);
  const CostRequest request{*rc::gen::inRange<int64_t>(1, 60), *rc::gen::inRange<int64_t>(0, 60),
                            *rc::gen::inRange<int64_t>(1, 9)};
  const CostPoint point = cost_point(cost, hardware, request);
  int64_t prefill = 0;
  int64_t decode = 0;
  double seconds = 0.0;
  for (const CostOp& line : cost_ops(cost, request)) {
    (line.stage == Stage::prefill ? prefill : decode) += line.flops;
    seconds += line.seconds;
  }
  RC_ASSERT(prefill == point.flops.prefill);
  RC_ASSERT(decode == point.flops.decode);
  // A few hundred terms in another order.
  RC_ASSERT(std::abs(seconds - point.latency.e2e_s) <= 1e-11 * seconds);
}

// Case 32.
TEST(sim_cost, output_0_or_1_has_no_time_per_token) {
  const Hardware hardware = load_hardware("h100-sxm");
  const StepCost cost(count_model(preset("qwen3-8b", "orthros")), {}, load_profile("ideal"),
                      hardware);
  for (int64_t output : {0, 1}) {
    const CostLatency latency = cost_point(cost, hardware, {4096, output, 2}).latency;
    EXPECT_FALSE(latency.tpot_s.has_value());
    EXPECT_FALSE(latency.decode_step_s.has_value());
    EXPECT_FALSE(latency.decode_tokens_per_s.has_value());
    EXPECT_EQ(latency.e2e_s, latency.ttft_s);
    EXPECT_EQ(latency.output_tokens_per_s.has_value(), output == 1);
  }
  EXPECT_TRUE(cost_point(cost, hardware, {4096, 2, 2}).latency.tpot_s.has_value());
}

TEST(sim_cost, kv_holds_all_tokens_but_the_last) {
  const Hardware hardware = load_hardware("h100-sxm");
  const StepCost cost(count_model(preset("qwen3-8b", "orthros")), {}, load_profile("ideal"),
                      hardware);
  EXPECT_EQ(cost_point(cost, hardware, {131072, 128, 2}).memory.kv, 2 * 131199 * 147456LL);
}

TEST(sim_cost, what_does_not_fit_is_said_and_still_costed) {
  const Hardware hardware = load_hardware("l40s");
  const StepCost cost(count_model(preset("qwen3-8b", "orthros")), {}, load_profile("ideal"),
                      hardware);
  EXPECT_TRUE(cost_point(cost, hardware, {1024, 16, 1}).fits);
  const CostPoint point = cost_point(cost, hardware, {131072, 16, 8});
  EXPECT_FALSE(point.fits);
  EXPECT_GT(point.latency.ttft_s, 0.0);
}

TEST(sim_cost, the_ideal_profile_is_a_lower_bound_of_the_papers_times) {
  const PaperTable paper = load_paper_table();
  const Hardware hardware = load_hardware(paper.hardware);
  for (const PaperRow& row : paper.rows) {
    EXPECT_LT(predict(row, load_profile("ideal"), hardware).latency.e2e_s, row.e2e_s);
  }
}

TEST(sim_cost, the_papers_rows_that_were_not_fitted_come_within_their_bounds) {
  const PaperTable paper = load_paper_table();
  const Profile profile = load_profile("sglang-triton-h100");
  const Hardware hardware = load_hardware(paper.hardware);
  int judged = 0;
  for (const PaperRow& row : paper.rows) {
    if (row.fitted) continue;
    ++judged;
    SCOPED_TRACE(row.arch + " " + std::to_string(row.request.input));
    const CostLatency latency = predict(row, profile, hardware).latency;
    if (row.ttft_s) {
      EXPECT_LE(std::abs(latency.ttft_s / *row.ttft_s - 1.0), paper.ttft_bound);
    }
    EXPECT_LE(std::abs(latency.e2e_s / row.e2e_s - 1.0), paper.e2e_bound_of(row));
  }
  EXPECT_EQ(judged, 8);
}

TEST(sim_cost, requests_are_checked) {
  EXPECT_THROW(check_request({0, 1, 1}), InputError);
  EXPECT_THROW(check_request({1, -1, 1}), InputError);
  EXPECT_THROW(check_request({1, 1, 0}), InputError);
  EXPECT_THROW(check_request({longest_sequence, 1, 1}), InputError);
  EXPECT_NO_THROW(check_request({1, 0, 1}));
}

}  // namespace
}  // namespace orthros
