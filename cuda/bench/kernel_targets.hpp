// Targets of single kernels, on random data.
#pragma once

#include <vector>

#include "cuda/bench/record.hpp"

namespace orthros::cuda {

// Floor over measured, at least `bound`: how near the copy's rate something comes.
Target share_target(std::string name, double floor_s, const Timed& measured, double bound);
// Measured over floor, at most `bound`.
Target excess_target(std::string name, double floor_s, const Timed& measured, double bound);

// Window attention of 131072 positions, in bursts and sustained; decode attention over 131072 keys,
// batch 1 and 2; the linear layers of a decode step at 2 to 8 rows, alone and chained. All shapes
// are the model's; `copy`: bytes per second.
std::vector<Target> kernel_targets(const DeviceModel& model, double copy);

}  // namespace orthros::cuda
