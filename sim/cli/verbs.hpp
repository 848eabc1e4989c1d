// The verbs of orthros-sim: one file each.
#pragma once

#include "reference/cli_support/program.hpp"

namespace orthros::cli {

int run_breakeven(const Arguments& arguments);
int run_compare(const Arguments& arguments);
int run_cost(const Arguments& arguments);
int run_fit(const Arguments& arguments);
int run_memory(const Arguments& arguments);
int run_plan(const Arguments& arguments);
int run_roofline(const Arguments& arguments);
int run_sweep(const Arguments& arguments);
int run_serve(const Arguments& arguments);
int run_validate(const Arguments& arguments);

}  // namespace orthros::cli
