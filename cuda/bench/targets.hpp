// The table of targets: whole runs and single kernels beside their bounds.
#pragma once

#include <vector>

#include "cuda/bench/record.hpp"
#include "reference/cli_support/options.hpp"

namespace orthros::cuda {

// All of it, for the model that --random and --seed name, with window 128 and without; takes
// minutes. Bounds are ratios to ceilings measured in the same process, or to the figures of
// compiled PyTorch in scenarios/measured/pytorch-h200.json.
std::vector<Target> measure_targets(const cli::po::variables_map& given);

}  // namespace orthros::cuda
