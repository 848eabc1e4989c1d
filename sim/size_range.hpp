// Lists and ranges of sizes, as sweeps take them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace orthros {

// Comma-separated elements, each a size (4096, 128K), FIRST:LAST:xFACTOR (1K:128K:x2) or
// FIRST:LAST:+STEP (1:9:+2), both ends included where they are met. At most 2^20 values. Throws
// InputError naming `option`.
std::vector<int64_t> parse_size_ranges(std::string_view option, std::string_view text);

}  // namespace orthros
