// The verbs of orthros-cuda: one file each.
#pragma once

#include "reference/cli_support/program.hpp"

namespace orthros::cuda {

int run_run(const cli::Arguments& arguments);
int run_generate(const cli::Arguments& arguments);
int run_check(const cli::Arguments& arguments);
int run_bench(const cli::Arguments& arguments);

}  // namespace orthros::cuda
