// The check: all cases of a suite, one after the other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cuda/check/findings.hpp"
#include "cuda/check/named_cases.hpp"
#include "cuda/engine/fault.hpp"
#include "cuda/group/sharded_engine.hpp"

namespace orthros::cuda {

struct CheckRequest {
  Suite suite = Suite::quick;
  uint64_t seed = 1;
  EngineFault fault = EngineFault::none;  // ends the check at the first case that fails
  std::string only;  // the case of this name, or those whose names begin so; empty: all
  std::optional<std::filesystem::path> goldens;
  std::optional<GroupOptions> group;  // cases for several GPUs, in place of all others
};

// The cases asked for, in order. Throws InputError where there is none of the name.
std::vector<CheckCase> suite_cases(const CheckRequest& request);

// Runs them on the current device. Progress and failures are told on stderr as they come.
Findings run_suite(const CheckRequest& request);

}  // namespace orthros::cuda
