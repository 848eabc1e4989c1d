// How the results of `cost` are written: for people, as JSON, as CSV.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/text_table.hpp"
#include "sim/cost.hpp"
#include "sim/hardware.hpp"
#include "sim/profile.hpp"

namespace orthros::cli {

struct CostResult {
  std::string arch;
  std::optional<int64_t> window;
  CostPoint point;
  std::vector<CostOp> ops;
  std::string left_context;  // of shards: recompute, deal (splits of all) or receive; empty: none
};

struct CostScenario {
  std::string model;
  CostRequest request;
  Deployment deployment;
  Hardware hardware;
  Profile profile;
  std::vector<CostResult> results;
};

// An array with one object per architecture, in the order given. FLOPs and bytes are integers,
// figures that do not exist null.
nlohmann::ordered_json cost_json(const CostScenario& scenario);
std::string cost_csv(const CostScenario& scenario);
// What was understood, a row per architecture, the paper's figures where it reports this scenario,
// and where the time goes.
std::string cost_text(const CostScenario& scenario);

// The row per architecture, with the paper's figures where it reports this scenario.
TextTable cost_table(const CostScenario& scenario);
// "orthros (w=128)".
std::string label_of(const CostResult& result);

// The line that says which profile was used and how far to trust it.
std::string profile_line(const Profile& profile, const Hardware& hardware);

}  // namespace orthros::cli
