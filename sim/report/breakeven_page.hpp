// The page of `breakeven`: where the second of two architectures stops paying off.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cost.hpp"
#include "sim/profile.hpp"
#include "sim/report/page.hpp"

namespace orthros::report {

struct BreakEvenRow {
  int64_t input = 0;
  std::optional<int64_t> output, batch;  // figures of sim/break_even.hpp
  std::optional<double> requests;
};

struct BreakEvenScenario {
  std::string model, slower, faster;  // architectures
  const StepCost* slower_cost = nullptr;
  const StepCost* faster_cost = nullptr;
  Hardware hardware;
  Deployment deployment;
  Profile profile;
  int64_t batch = 1;
  int64_t output = 0;  // of the requests that repay training
  int64_t limit = 0;   // largest output tried
  double gain = 1.0;
  double slack = 0.0;
  std::vector<BreakEvenRow> rows;  // ascending in input
};

Page breakeven_page(const BreakEvenScenario& scenario, cli::TextTable table);

}  // namespace orthros::report
