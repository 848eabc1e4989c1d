// How the results of `serve` are written: for people, as JSON, as CSV, request by request.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/cli/serve_options.hpp"
#include "sim/cli/text_table.hpp"
#include "sim/ops.hpp"
#include "sim/profile.hpp"

namespace orthros::cli {

struct ServeOutcome {
  std::string arch;
  ServeResult result;
  ServeSummary summary;
};

struct ServeScenario {
  std::string model;
  Deployment deployment;
  Hardware hardware;
  Profile profile;
  ServeQuestion question;
  std::vector<ServeOutcome> outcomes;
};

// An array with one object per architecture, in the order given; the same for the same arguments,
// to the byte. Figures that do not exist are null.
nlohmann::ordered_json serve_json(const ServeScenario& scenario);
std::string serve_csv(const ServeScenario& scenario);
std::string serve_text(const ServeScenario& scenario);

// Parts of serve_text: the engines in words, percentiles by architecture, a column of totals each.
std::string engines_text(const ServeScenario& scenario);
TextTable latency_table(const ServeScenario& scenario);
TextTable totals_table(const ServeScenario& scenario);

// A line per request and architecture.
std::string requests_csv(const ServeScenario& scenario);
// A line per bucket of time and architecture: queue, batch and cache.
std::string timeline_csv(const ServeScenario& scenario);

// What must be said beside any figures: requests that were rejected, load near saturation. Lines
// for stderr.
std::vector<std::string> serve_warnings(const ServeScenario& scenario);

}  // namespace orthros::cli
