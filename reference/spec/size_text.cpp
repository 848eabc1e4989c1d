// Parses and prints sizes with exact integer arithmetic.
#include "reference/spec/size_text.hpp"

#include <fmt/format.h>

#include <limits>

#include "reference/spec/input_error.hpp"
#include "reference/spec/wide_int.hpp"

namespace orthros {
namespace {

// The factor that a suffix stands for; 0 for an unknown one.
uint64_t factor_of(std::string_view suffix) {
  if (suffix.empty()) return 1;
  const bool binary = suffix[0] >= 'A' && suffix[0] <= 'Z';  // "ki" is no prefix of anybody's
  if (suffix.size() == 2 && suffix[1] == 'i' && binary) suffix.remove_suffix(1);
  if (suffix.size() != 1) return 0;
  constexpr uint64_t thousand = 1000;
  constexpr uint64_t kibi = 1024;
  switch (suffix[0]) {
    case 'k':
      return thousand;
    case 'm':
      return thousand * thousand;
    case 'g':
      return thousand * thousand * thousand;
    case 't':
      return thousand * thousand * thousand * thousand;
    case 'K':
      return kibi;
    case 'M':
      return kibi * kibi;
    case 'G':
      return kibi * kibi * kibi;
    case 'T':
      return kibi * kibi * kibi * kibi;
    default:
      return 0;
  }
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

int64_t parse_size(std::string_view option, std::string_view text) {
  const auto fail = [&](const char* expected) {
    return InputError(option, "", fmt::format("expected {}, got '{}'", expected, text));
  };
  constexpr const char* a_size = "a size such as 4096, 128K (1024s) or 25.6k (1000s)";
  constexpr const char* within = "a size within 64 bits";

  // numerator / 10^decimals is the number before the suffix.
  uint128 numerator = 0;
  uint64_t denominator = 1;
  size_t i = 0;
  size_t digits = 0;
  bool point = false;
  for (; i < text.size() && (is_digit(text[i]) || (text[i] == '.' && !point)); ++i) {
    if (text[i] == '.') {
      point = true;
      continue;
    }
    if (++digits > 24) throw fail(within);
    numerator = numerator * 10 + static_cast<unsigned>(text[i] - '0');
    if (point) {
      if (denominator > 100'000'000'000'000'000u) throw fail(a_size);
      denominator *= 10;
    }
  }
  if (digits == 0 || text[i - 1] == '.' || text[0] == '.') throw fail(a_size);
  const uint64_t factor = factor_of(text.substr(i));
  if (factor == 0) throw fail(a_size);
  // 10^24 x 2^40 needs 120 bits, so the product is exact.
  const uint128 product = numerator * factor;
  if (product % denominator != 0) throw fail("a whole number of units");
  const uint128 value = product / denominator;
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) throw fail(within);
  return static_cast<int64_t>(value);
}

std::vector<int64_t> parse_size_list(std::string_view option, std::string_view text) {
  std::vector<int64_t> sizes;
  while (true) {
    const size_t comma = text.find(',');
    sizes.push_back(parse_size(option, text.substr(0, comma)));
    if (comma == std::string_view::npos) return sizes;
    text.remove_prefix(comma + 1);
  }
}

std::string size_text(int64_t value) {
  constexpr const char* suffixes[] = {"T", "G", "M", "K"};
  int64_t unit = int64_t{1} << 40;
  for (const char* suffix : suffixes) {
    if (value >= unit && value % unit == 0) return fmt::format("{}{}", value / unit, suffix);
    unit >>= 10;
  }
  return fmt::format("{}", value);
}

}  // namespace orthros
