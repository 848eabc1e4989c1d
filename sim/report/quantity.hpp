// Quantity: what a number on a page measures, and how people read it.
#pragma once

#include <string>
#include <string_view>

namespace orthros::report {

// tokens: counts in powers of 1024 where they are whole (128K). ratio: 3.8×. share: of 1, as per
// cent. rate: per second. count: anything else that is counted.
enum class Quantity { tokens, count, seconds, bytes, ratio, share, rate };

// As the page's script knows it: "tokens".
std::string_view name_of(Quantity quantity);
// With its unit; "n/a" for what is not finite.
std::string text_of(Quantity quantity, double value);

}  // namespace orthros::report
