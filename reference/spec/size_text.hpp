// Sizes as people write them: 128K, 25.6k, 1M.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orthros {

// A count from text: digits with an optional decimal part and an optional suffix, decimal (k, m, g,
// t: powers of 1000) or binary (K, M, G, T: powers of 1024; Ki, Mi, Gi, Ti mean the same). "25.6k"
// is 25600, "128K" 131072. The result must be whole and fit 64 bits; signs, NaN, empty text and
// trailing characters are refused. Throws InputError naming `option`.
int64_t parse_size(std::string_view option, std::string_view text);

// A comma-separated list of sizes; empty elements are refused.
std::vector<int64_t> parse_size_list(std::string_view option, std::string_view text);

// The shortest exact way to write a count: 131072 -> "128K", 1000 -> "1000".
std::string size_text(int64_t value);

}  // namespace orthros
