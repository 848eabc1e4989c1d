// Runs a list of loads in one process and writes what they took.
#pragma once

#include <filesystem>

#include "cuda/bench/sweep_loads.hpp"
#include "cuda/cli/device_info.hpp"
#include "reference/cli_support/options.hpp"

namespace orthros::cuda {

// For the model that --random or --model names, in each engine's architecture. Written at
// `out`-runs.csv, a row for each load and length of answer:
//   arch, input, output, batch, chunk, use, method, repeats, ttft_s, decode_step_s, end_to_end_s
// (seconds, medians over repeats; decode_step_s is the mean of the output - 1 steps). method:
//   run      the prefill and every step of the answer were timed
//   sampled  the prefill was timed; steps at the answer's beginning, middle and end over random
//            cache entries, their mean by Simpson's rule
//   decode   the same without a prefill: no ttft_s, no end_to_end_s
// At `out`-ops.csv, for loads that ask for it, a row for each op of the prefill and of one eager
// decode step behind it, events between them:
//   arch, input, batch, chunk, use, stage, op, launches, seconds
// And at `out`-sweep.json the device, the commit, and clocks behind each engine's last load. All
// are written anew behind each engine; rows go to stderr as they are measured.
void run_sweep(const cli::po::variables_map& given, const Sweep& sweep, const DeviceInfo& device,
               const cli::Arguments& flags, const std::filesystem::path& out);

}  // namespace orthros::cuda
