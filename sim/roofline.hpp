// Measured ops of this project's engine beside what the hardware would take for them at best.
#pragma once

#include <string>
#include <vector>

#include "sim/measured_runs.hpp"
#include "sim/profile.hpp"

namespace orthros {

// A group of ops (op_group) over one stage of a load: every layer and pass of its prefill, or one
// decode step.
struct RooflineRow {
  std::string arch;
  CostRequest request;
  Stage stage = Stage::prefill;
  std::string group;
  int64_t launches = 0;  // measured
  int64_t flops = 0;
  int64_t bytes = 0;
  double floor_s = 0.0;  // by the profile's laws
  std::string bound;     // of the op that takes most of the floor
  double measured_s = 0.0;

  double ratio() const { return floor_s / measured_s; }  // how near its floor: 1 at best
};

// Groups that the simulator's table of ops does not have are left out. `spec`: the model that ran.
std::vector<RooflineRow> roofline(const std::vector<MeasuredOps>& ops, const ModelSpec& spec,
                                  const Profile& profile, const Hardware& hardware);

}  // namespace orthros
