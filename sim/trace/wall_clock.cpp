// Reads dates and times digit by digit.
#include "sim/trace/wall_clock.hpp"

#include <chrono>

namespace orthros {
namespace {

bool digit(char c) {
  return c >= '0' && c <= '9';
}

// Takes exactly `digits` of them.
std::optional<int> take_number(std::string_view& text, size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (size_t i = 0; i < digits; ++i) {
    if (!digit(text[i])) return std::nullopt;
    value = 10 * value + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, std::string_view one_of) {
  if (text.empty() || one_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// Two numbers of two digits with a colon between, in seconds.
std::optional<int64_t> take_hours_minutes(std::string_view& text, int most_hours) {
  const auto hours = take_number(text, 2);
  if (!hours || *hours > most_hours || !take(text, ":")) return std::nullopt;
  const auto minutes = take_number(text, 2);
  if (!minutes || *minutes > 59) return std::nullopt;
  return int64_t{*hours} * 3600 + *minutes * 60;
}

// What follows the seconds, in nanoseconds; nothing where there is a point and no digit.
std::optional<int64_t> take_fraction(std::string_view& text) {
  if (!take(text, ".")) return 0;
  constexpr int64_t second = 1'000'000'000;
  int64_t nanoseconds = 0;
  int64_t unit = second;
  while (!text.empty() && digit(text.front()) && unit > 1) {
    unit /= 10;
    nanoseconds += unit * (text.front() - '0');
    text.remove_prefix(1);
  }
  if (unit == second) return std::nullopt;
  return nanoseconds;
}

// East of UTC is positive.
std::optional<int64_t> take_offset(std::string_view& text) {
  if (text.empty() || take(text, "Z")) return 0;
  const bool west = text.front() == '-';
  if (!take(text, "+-")) return std::nullopt;
  const auto seconds = take_hours_minutes(text, 14);
  if (!seconds) return std::nullopt;
  return west ? -*seconds : *seconds;
}

}  // namespace

std::optional<int64_t> parse_wall_clock(std::string_view text) {
  const auto year = take_number(text, 4);
  if (!year || *year < 1970 || *year > 2200 || !take(text, "-")) return std::nullopt;
  const auto month = take_number(text, 2);
  if (!month || !take(text, "-")) return std::nullopt;
  const auto day = take_number(text, 2);
  if (!day || !take(text, " T")) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  const auto minutes = take_hours_minutes(text, 23);
  if (!date.ok() || !minutes || !take(text, ":")) return std::nullopt;
  const auto seconds = take_number(text, 2);
  if (!seconds || *seconds > 59) return std::nullopt;
  const auto fraction = take_fraction(text);
  if (!fraction) return std::nullopt;
  const auto offset = take_offset(text);
  if (!offset || !text.empty()) return std::nullopt;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  constexpr int64_t seconds_per_day = 86400;
  return (days * seconds_per_day + *minutes + *seconds - *offset) * 1'000'000'000 + *fraction;
}

}  // namespace orthros
