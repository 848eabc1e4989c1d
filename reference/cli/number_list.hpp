// Lists of ids and positions as people write them, on the command line or in a file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orthros::cli {

// What a list holds: "token ids" from `least` to `most`.
struct NumberKind {
  const char* plural;
  int64_t least;
  int64_t most;
};

// Numbers separated by commas, whitespace or newlines, or a JSON array of numbers. At least one.
// Throws InputError naming `where`, and the line where `lines` is set.
std::vector<int64_t> parse_numbers(const std::string& where, bool lines, std::string_view text,
                                   const NumberKind& kind);

// The same from an option's value, or from a file of at most 1 GiB where it is @FILE.
std::vector<int64_t> read_numbers(const std::string& option, const std::string& value,
                                  const NumberKind& kind);

}  // namespace orthros::cli
