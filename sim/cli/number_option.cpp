// Parses real numbers of options.
#include "sim/cli/number_option.hpp"

#include <fmt/format.h>

#include <charconv>

#include "reference/spec/input_error.hpp"

namespace orthros::cli {

double number_option(const po::variables_map& given, const char* name, double least, double most) {
  const std::string text = text_option(given, name);
  double value = 0.0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  // The comparison also refuses NaN.
  if (error != std::errc{} || stop != end || !(value >= least && value <= most)) {
    throw InputError(fmt::format("--{}", name), "",
                     fmt::format("expected a number from {} to {}, got '{}'", least, most, text));
  }
  return value;
}

}  // namespace orthros::cli
