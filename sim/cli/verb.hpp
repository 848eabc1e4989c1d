// The verbs of orthros-sim: one file each.
#pragma once

#include <string>
#include <vector>

namespace orthros::cli {

// Arguments after the verb. Returns the exit status: 0 done, 1 a check failed; bad input throws
// InputError or boost::program_options::error.
using Arguments = std::vector<std::string>;

struct Verb {
  const char* name;
  const char* summary;
  int (*run)(const Arguments&);
};

int run_cost(const Arguments& arguments);
int run_fit(const Arguments& arguments);
int run_validate(const Arguments& arguments);

}  // namespace orthros::cli
