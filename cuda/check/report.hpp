// A check's findings for people and for programs.
#pragma once

#include <cstdint>
#include <string>

#include "cuda/check/findings.hpp"
#include "reference/cli/model_report.hpp"

namespace orthros::cuda {

// What the findings are about.
struct CheckSetting {
  std::string suite, gpu, driver, cuda, commit;
  uint64_t seed = 1;
  std::string only;  // empty: all cases
  int64_t gpus = 1;
  std::string transport;  // between several GPUs
  std::string fault;      // empty: none
  double seconds = 0.0;
};

// {suite, gpu, driver, cuda, commit, seed, only, fault, compared, equal, failed, first_difference,
// failures, promises, cases, errors, left_out, seconds}.
cli::Json check_json(const CheckSetting& setting, const Findings& findings);
void print_check(const CheckSetting& setting, const Findings& findings);

// Whether all of it holds, and something was compared at all.
bool passed(const Findings& findings);

}  // namespace orthros::cuda
