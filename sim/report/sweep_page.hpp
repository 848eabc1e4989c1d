// The page of `sweep`: slices through the points that were swept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cost.hpp"
#include "sim/profile.hpp"
#include "sim/report/page.hpp"

namespace orthros::report {

// One combination of everything but lengths and batch.
struct SweptSystem {
  std::string arch;
  std::optional<int64_t> window;
  Hardware hardware;
  Profile profile;
  StepCost cost;
};

struct SweepScenario {
  std::string model;
  Deployment deployment;
  std::vector<SweptSystem> systems;
  std::vector<int64_t> inputs, outputs, batches;  // as asked, in any order
};

// Gains are over the Transformer on the same hardware with the same profile, else over the first
// system there. What a chart does not spread is held at the middle of its list.
Page sweep_page(const SweepScenario& scenario);

}  // namespace orthros::report
