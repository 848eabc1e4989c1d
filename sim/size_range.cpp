// Expands ranges of sizes.
#include "sim/size_range.hpp"

#include <fmt/format.h>

#include "reference/spec/input_error.hpp"
#include "reference/spec/size_text.hpp"

namespace orthros {
namespace {

constexpr size_t most_values = size_t{1} << 20;

void add_range(std::string_view option, std::string_view text, std::vector<int64_t>& values) {
  const auto fail = [&](const char* expected) {
    return InputError(option, "", fmt::format("expected {}, got '{}'", expected, text));
  };
  const size_t first_colon = text.find(':');
  if (first_colon == std::string_view::npos) {
    values.push_back(parse_size(option, text));
    return;
  }
  const size_t last_colon = text.rfind(':');
  constexpr const char* form = "FIRST:LAST:xFACTOR or FIRST:LAST:+STEP";
  if (last_colon == first_colon || last_colon + 2 > text.size()) throw fail(form);
  const int64_t first = parse_size(option, text.substr(0, first_colon));
  const int64_t last =
      parse_size(option, text.substr(first_colon + 1, last_colon - first_colon - 1));
  const char kind = text[last_colon + 1];
  const int64_t by = parse_size(option, text.substr(last_colon + 2));
  if (kind != 'x' && kind != '+') throw fail(form);
  if (last < first || by < (kind == 'x' ? 2 : 1) || (kind == 'x' && first < 1)) {
    throw fail("a range that ascends");
  }
  for (int64_t value = first; value <= last;) {
    if (values.size() == most_values) throw fail("at most 2^20 values");
    values.push_back(value);
    const bool overflow = kind == 'x' ? __builtin_mul_overflow(value, by, &value)
                                      : __builtin_add_overflow(value, by, &value);
    if (overflow) break;
  }
}

}  // namespace

std::vector<int64_t> parse_size_ranges(std::string_view option, std::string_view text) {
  std::vector<int64_t> values;
  while (true) {
    const size_t comma = text.find(',');
    add_range(option, text.substr(0, comma), values);
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace orthros
