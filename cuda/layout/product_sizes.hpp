// The numbers of rows at which ways to multiply are compared.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace orthros::cuda {

// From here on prompts fill products, below decode steps do.
inline constexpr int64_t prompt_rows = 256;
// Copies stand behind their prompts' rows, and prompts are often as long as whole tiles: then a few
// rows more want other tiles.
inline constexpr int64_t copies_behind = 32;

// Ascending, the last `most`. A product of r rows, over < r <= most, runs as was found best at the
// first size >= r. over: a power of two.
inline std::vector<int64_t> product_sizes(int64_t over, int64_t most) {
  std::vector<int64_t> sizes;
  for (int64_t octave = over; octave < most; octave *= 2) {
    const int64_t half = octave + octave / 2;
    const int64_t behind = octave < prompt_rows ? 0 : copies_behind;
    const std::array within{octave + behind, half, half + behind, 2 * octave};
    for (const int64_t size : within) {
      if (size == (sizes.empty() ? over : sizes.back())) continue;
      sizes.push_back(std::min(size, most));
      if (size >= most) return sizes;
    }
  }
  return sizes;
}

}  // namespace orthros::cuda
