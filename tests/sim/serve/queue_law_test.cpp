// The simulated queue against queueing theory.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/serve/traffic.hpp"
#include "tests/sim/serve/servers.hpp"

namespace orthros {
namespace {

// M/D/1: Poisson arrivals, batch 1, all requests alike. The mean wait is rho s / (2 (1 - rho)).
//
// Its confidence interval: waits of neighbours depend on each other, but an arrival that finds the
// server idle starts afresh, so the busy periods are independent and alike (regenerative method,
// Crane and Iglehart, 1974). With Y_i the sum of waits and A_i the number of requests of the i-th
// of n busy periods, r = sum Y / sum A estimates the mean wait, and Y_i - r A_i has mean 0, so the
// standard error of r is sqrt(sum (Y_i - r A_i)^2) / sum A. A normal variable is within 4 of them
// but once in 15,787 times, and the seed is fixed.
void expect_mean_wait(double rho) {
  const StepCost cost = test::step_cost("transformer", "qwen3-8b", "ideal");
  ServeConfig config = test::config_for(cost, 1000);
  config.max_batch = 1;
  const double service = serve(cost, config, test::equal_requests(1, 300, 4, 0.0)).end_s;
  Traffic traffic;
  traffic.seed = 7;
  traffic.rate = rho / service;
  traffic.requests = 200'000;
  traffic.input = {300.0, 0.0};
  traffic.output = {4.0, 0.0};
  const ServeResult result = serve(cost, config, generate(traffic));

  struct Period {
    double waits = 0.0;
    double arrivals = 0.0;
  };
  std::vector<Period> periods;
  double idle_from = 0.0;
  for (const RequestRecord& record : result.requests) {
    if (record.arrival_s >= idle_from) periods.emplace_back();
    periods.back().waits += record.admitted_s - record.arrival_s;
    periods.back().arrivals += 1.0;
    idle_from = record.finish_s;
  }
  periods.pop_back();  // perhaps cut short
  double waits = 0.0, arrivals = 0.0, squares = 0.0;
  for (const Period& period : periods) {
    waits += period.waits;
    arrivals += period.arrivals;
  }
  const double mean = waits / arrivals;
  for (const Period& period : periods) {
    squares += std::pow(period.waits - mean * period.arrivals, 2.0);
  }
  const double standard_error = std::sqrt(squares) / arrivals;
  const double expected = rho * service / (2.0 * (1.0 - rho));
  EXPECT_NEAR(mean, expected, 4.0 * standard_error);
  // Narrow enough to tell it from M/M/1, which waits twice as long, and from most slips.
  EXPECT_LT(standard_error, 0.02 * expected);
  // The server is busy a share rho of the time.
  EXPECT_NEAR(result.busy_s / result.duration_s(), rho, 0.02);
}

TEST(sim_serve_queue, mean_wait_is_that_of_m_d_1_at_half_load) {
  expect_mean_wait(0.5);
}

TEST(sim_serve_queue, mean_wait_is_that_of_m_d_1_at_high_load) {
  expect_mean_wait(0.8);
}

}  // namespace
}  // namespace orthros
