// Options that take a real number.
#pragma once

#include "reference/cli_support/options.hpp"

namespace orthros::cli {

// A finite number in [least, most]; InputError naming the option otherwise.
double number_option(const po::variables_map& given, const char* name, double least, double most);

}  // namespace orthros::cli
