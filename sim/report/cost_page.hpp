// The page of `cost`: the point that was asked for, and the points around it.
#pragma once

#include <span>

#include "sim/cli/cost_report.hpp"
#include "sim/report/page.hpp"
#include "sim/step_cost.hpp"

namespace orthros::report {

// `costs` as many as the scenario's results, in their order. Around the point: inputs 1K to 1M and
// outputs 1 to 16K. Times are compared with the Transformer's where it is among the results, else
// with the first's.
Page cost_page(const cli::CostScenario& scenario, std::span<const StepCost> costs);

}  // namespace orthros::report
