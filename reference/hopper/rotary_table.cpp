// Fills the table of cosines and sines.
#include "reference/hopper/rotary_table.hpp"

#include <cmath>

namespace orthros::hopper {

std::vector<float> rotary_table(const Rope& rope, int64_t first, int64_t count) {
  const std::vector<double> frequencies = inverse_frequencies(rope);
  std::vector<float> table;
  table.reserve(static_cast<size_t>(count) * frequencies.size() * 2);
  for (int64_t index = first; index < first + count; ++index) {
    for (const double frequency : frequencies) {
      const double angle = static_cast<double>(index) * frequency;
      table.push_back(static_cast<float>(std::cos(angle) * rope.attention_factor));
      table.push_back(static_cast<float>(std::sin(angle) * rope.attention_factor));
    }
  }
  return table;
}

}  // namespace orthros::hopper
