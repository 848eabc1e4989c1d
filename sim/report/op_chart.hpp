// Where a stage's time goes, op by op.
#pragma once

#include "sim/cli/cost_report.hpp"
#include "sim/report/chart.hpp"

namespace orthros::report {

// A bar for each of the scenario's architectures. Ops below a hundredth of every bar are summed as
// "others".
Chart op_chart(const cli::CostScenario& scenario, Stage stage);

}  // namespace orthros::report
