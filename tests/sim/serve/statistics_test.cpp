// Gaps, timelines, summaries and generated traffic.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/spec/input_error.hpp"
#include "sim/serve/summary.hpp"
#include "sim/serve/traffic.hpp"
#include "tests/sim/serve/servers.hpp"

namespace orthros {
namespace {

RC_GTEST_PROP(sim_gap_histogram, quantiles_are_within_a_bin_of_the_sorted_gaps, ()) {
  GapHistogram gaps;
  std::vector<double> sorted;
  double sum = 0.0;
  for (int i = *rc::gen::inRange(1, 60); i > 0; --i) {
    const double gap = std::exp(*rc::gen::inRange(-12000, 5000) / 1000.0);
    const int count = *rc::gen::inRange(1, 4);
    gaps.add(gap, count);
    sorted.insert(sorted.end(), static_cast<size_t>(count), gap);
    sum += gap * count;
  }
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  RC_ASSERT(std::abs(*gaps.mean() - sum / n) <= 1e-12 * sum / n);
  for (const double p : {0.01, 0.5, 0.9, 0.99, 1.0}) {
    const double exact = sorted[static_cast<size_t>(std::ceil(p * n)) - 1];
    // 256 bins for a factor of 2: the mean of a bin is within 1 / 256 of anything in it.
    RC_ASSERT(std::abs(*gaps.quantile(p) - exact) <= exact / 256.0);
  }
}

TEST(sim_gap_histogram, gaps_past_either_end_are_kept) {
  GapHistogram gaps;
  gaps.add(0.0);
  gaps.add(1e300);
  EXPECT_EQ(gaps.count(), 2);
  EXPECT_EQ(gaps.quantile(0.5), 0.0);
  EXPECT_EQ(gaps.quantile(1.0), 1e300);
  EXPECT_EQ(GapHistogram().quantile(0.5), std::nullopt);
}

RC_GTEST_PROP(sim_gap_histogram, a_run_gives_what_its_steps_give, ()) {
  const StepCost cost = test::step_cost("swa");
  const DecodeLoad load = uniform_decode(cost.model(), *rc::gen::inRange<int64_t>(1, 64),
                                         *rc::gen::inRange<int64_t>(1, 3000));
  const int64_t steps = std::min(load.steady_steps, *rc::gen::inRange<int64_t>(1, 5000));
  GapHistogram run, single;
  run.add_run(cost, load, steps, cost.decode_seconds(load, steps), 3);
  for (int64_t i = 0; i < steps; ++i) single.add(cost.seconds({}, load.after(i)), 3);
  RC_ASSERT(run.count() == single.count());
  for (const double p : {0.001, 0.1, 0.5, 0.9, 1.0}) {
    RC_ASSERT(std::abs(*run.quantile(p) - *single.quantile(p)) <= 1e-9 * *single.quantile(p));
  }
}

RC_GTEST_PROP(sim_timeline, integrals_survive_any_duration, ()) {
  TimeSeries series;
  double time = 0.0, integral = 0.0;
  for (int i = *rc::gen::inRange(0, 200); i > 0; --i) {
    const double next = time + std::exp(*rc::gen::inRange(-7000, 9000) / 1000.0);
    const double value = *rc::gen::inRange(0, 100);
    series.add(time, next, value);
    integral += (next - time) * value;
    time = next;
  }
  RC_ASSERT(series.means().size() <= TimeSeries::most_buckets);
  RC_ASSERT(std::abs(series.integral() - integral) <= 1e-10 * integral);
  TimeSeries sum = series;
  sum.add(series);
  RC_ASSERT(std::abs(sum.integral() - 2.0 * integral) <= 2e-10 * integral);
}

TEST(sim_timeline, a_bucket_is_the_mean_over_its_time) {
  TimeSeries series;
  series.add(0.0, 1.0, 4.0);
  series.add(1.0, 1024.0, 2.0);
  // 512 buckets hold 1024 s when each is 2 s.
  EXPECT_EQ(series.bucket_s(), 2.0);
  EXPECT_EQ(series.means().size(), 512u);
  EXPECT_DOUBLE_EQ(series.means()[0], 3.0);
  EXPECT_DOUBLE_EQ(series.means()[300], 2.0);
}

TEST(sim_summary, percentiles_slo_and_cost_are_those_of_the_records) {
  ServeResult result;
  for (int i = 0; i < 5; ++i) {
    RequestRecord record;
    record.status = RequestRecord::Status::completed;
    record.input = 10;
    record.output = i == 4 ? 1 : 11;
    record.arrival_s = i;
    record.admitted_s = i;
    record.first_token_s = i + 1 + i;                                   // TTFT 1..5
    record.finish_s = record.first_token_s + (i == 4 ? 0.0 : 1.0 + i);  // TPOT .1 .. .4
    result.requests.push_back(record);
  }
  result.requests.push_back({});  // rejected
  result.completed = 5;
  result.end_s = 10.0;
  result.gpus = 2;
  result.busy_s = 5.0;
  const ServeSummary summary = summary_of(result, {4.0, 0.25}, 3.0);
  EXPECT_EQ(summary.requests, 6);
  EXPECT_EQ(summary.rejected, 1);
  EXPECT_EQ(summary.input_tokens, 50);
  EXPECT_EQ(summary.output_tokens, 45);
  EXPECT_DOUBLE_EQ(*summary.ttft_s.mean, 3.0);
  EXPECT_DOUBLE_EQ(*summary.ttft_s.p50, 3.0);
  EXPECT_DOUBLE_EQ(*summary.ttft_s.p90, 4.6);
  EXPECT_DOUBLE_EQ(*summary.tpot_s.p50, 0.25);
  EXPECT_DOUBLE_EQ(*summary.goodput_rps, 0.2);  // TTFT up to 4 and TPOT up to .25: two in 10 s
  EXPECT_DOUBLE_EQ(*summary.output_tokens_per_s, 4.5);
  EXPECT_DOUBLE_EQ(summary.utilisation, 0.5);
  EXPECT_DOUBLE_EQ(summary.gpu_seconds, 20.0);
  EXPECT_DOUBLE_EQ(*summary.dollars_per_million_output_tokens, 20.0 / 3600.0 * 3.0 / 45.0 * 1e6);
  EXPECT_FALSE(summary.itl_s.mean);
}

// Mean and standard deviation of n draws, each within 5 of its own standard errors (a normal
// variable is but once in 1.7 million times): of the mean c / sqrt n of it, c being the coefficient
// of variation; of the deviation sqrt((kurtosis - 1) / n) / 2 of it. The kurtosis is at most 27
// here: 3 + 6 c^2 for a gamma distribution, w^4 + 2 w^3 + 3 w^2 - 3 with w = 1 + c^2 for a
// lognormal one.
void expect_moments(const std::vector<double>& values, double mean, double variation) {
  const auto n = static_cast<double>(values.size());
  double sum = 0.0, squares = 0.0;
  for (double value : values) sum += value;
  for (double value : values) squares += std::pow(value - sum / n, 2.0);
  EXPECT_NEAR(sum / n, mean, 5.0 * variation * mean / std::sqrt(n));
  constexpr double kurtosis = 27.0;
  EXPECT_NEAR(std::sqrt(squares / n), variation * mean,
              5.0 * std::sqrt((kurtosis - 1.0) / n) / 2.0 * variation * mean);
}

TEST(sim_traffic, gaps_and_lengths_have_the_moments_asked_for) {
  for (const double variation : {0.5, 1.0, 2.0}) {
    Traffic traffic;
    traffic.seed = 11;
    traffic.rate = 4.0;
    traffic.variation = variation;
    traffic.requests = 100'000;
    traffic.input = parse_length_law("--input", "lognormal:2000,0.8");
    traffic.output = parse_length_law("--output", "7");
    const Workload workload = generate(traffic);
    std::vector<double> gaps, inputs;
    double last = 0.0;
    for (const Request& request : workload.requests) {
      gaps.push_back(request.arrival_s - last);
      last = request.arrival_s;
      inputs.push_back(static_cast<double>(request.input));
      ASSERT_EQ(request.output, 7);
    }
    expect_moments(gaps, 0.25, variation);
    expect_moments(inputs, 2000.0, 0.8);
  }
}

TEST(sim_traffic, a_seed_gives_the_same_requests_and_another_gives_others) {
  Traffic traffic;
  traffic.rate = 1.0;
  traffic.duration_s = 100.0;
  traffic.pairs = {{10, 1}, {20, 2}, {30, 3}};
  const auto arrivals = [&](uint64_t seed) {
    traffic.seed = seed;
    std::vector<double> times;
    for (const Request& request : generate(traffic).requests) {
      EXPECT_EQ(request.input, 10 * request.output);
      EXPECT_LT(request.arrival_s, 100.0);
      times.push_back(request.arrival_s);
    }
    return times;
  };
  EXPECT_EQ(arrivals(3), arrivals(3));
  EXPECT_NE(arrivals(3), arrivals(4));
}

TEST(sim_traffic, bad_length_laws_are_refused) {
  for (const char* text :
       {"lognormal:", "lognormal:10", "lognormal:10,", "lognormal:10,0", "lognormal:10,-1",
        "lognormal:10,nan", "lognormal:0,1", "normal:3,1", "lognormal:10,1x", "-3", ""}) {
    EXPECT_THROW(parse_length_law("--input", text), InputError) << text;
  }
  EXPECT_EQ(parse_length_law("--input", "30K").mean, 30720.0);
}

}  // namespace
}  // namespace orthros
