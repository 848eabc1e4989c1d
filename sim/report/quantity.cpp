// Names quantities and writes their values.
#include "sim/report/quantity.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>

#include "reference/spec/size_text.hpp"
#include "sim/cli/text_table.hpp"

namespace orthros::report {
namespace {

// Beyond it doubles are not all whole.
constexpr double most_whole = 9007199254740992.0;

std::string count_text(double value) {
  if (value == std::floor(value) && std::abs(value) < most_whole) {
    return size_text(static_cast<int64_t>(value));
  }
  return fmt::format("{:.4g}", value);
}

}  // namespace

std::string_view name_of(Quantity quantity) {
  constexpr std::array<std::string_view, 7> names = {"tokens", "count", "seconds", "bytes",
                                                     "ratio",  "share", "rate"};
  return names[static_cast<size_t>(quantity)];
}

std::string text_of(Quantity quantity, double value) {
  if (!std::isfinite(value)) return "n/a";
  switch (quantity) {
    case Quantity::tokens:
      return count_text(value);
    case Quantity::count:
      return fmt::format("{:.6g}", value);
    case Quantity::seconds:
      return cli::seconds_text(value);
    case Quantity::bytes:
      return cli::bytes_text(value);
    case Quantity::ratio:
      return fmt::format("{:.3g}×", value);
    case Quantity::share:
      return fmt::format("{:.1f} %", 100.0 * value);
    case Quantity::rate:
      return fmt::format("{:.4g}/s", value);
  }
  return "";
}

}  // namespace orthros::report
