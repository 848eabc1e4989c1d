// --scalar, --threads, --form, --recurrent-chunk: how a verb computes.
#pragma once

#include <cstdint>
#include <string>

#include "reference/cli_support/options.hpp"
#include "reference/model/step.hpp"

namespace orthros::cli {

struct ComputeOptions {
  std::string scalar;  // double, float, bf16 or hopper
  RecurrentForm form = RecurrentForm::recurrent;
  int64_t recurrent_chunk = 64;
};

void add_compute_options(po::options_description& options);
// Also sets the number of threads.
ComputeOptions read_compute_options(const po::variables_map& given);

}  // namespace orthros::cli
