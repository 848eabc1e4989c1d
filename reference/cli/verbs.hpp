// The verbs of orthros-ref: one file each.
#pragma once

#include "reference/cli_support/program.hpp"

namespace orthros::cli {

int run_describe(const Arguments& arguments);
int run_run(const Arguments& arguments);
int run_generate(const Arguments& arguments);
int run_loss(const Arguments& arguments);
int run_convert(const Arguments& arguments);
int run_golden(const Arguments& arguments);

}  // namespace orthros::cli
