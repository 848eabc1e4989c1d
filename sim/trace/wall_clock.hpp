// Wall-clock timestamps as traces write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace orthros {

// "2023-11-16 18:17:03.9799600" in nanoseconds since 1970, UTC where no offset is given: a space or
// T between date and time, up to 9 fraction digits, then nothing, Z, or an offset +hh:mm. Years
// 1970 to 2200. Nothing for any other text or a date that does not exist.
std::optional<int64_t> parse_wall_clock(std::string_view text);

}  // namespace orthros
