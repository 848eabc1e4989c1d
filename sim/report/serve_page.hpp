// The page of `serve`: a server under traffic over time, and how its requests fared.
#pragma once

#include "sim/cli/serve_report.hpp"
#include "sim/report/page.hpp"

namespace orthros::report {

Page serve_page(const cli::ServeScenario& scenario);

}  // namespace orthros::report
