// The one table of cosines and sines, made on the host.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/spec/rope.hpp"

namespace orthros::hopper {

// For each position index (t - 1) in [first, first + count) and pair i < rope.width / 2: the
// cosine, then the sine of index theta_i, times the attention factor. Computed in double by the
// host's library and rounded once, as Rotary does. Shape: count x width / 2 x 2.
std::vector<float> rotary_table(const Rope& rope, int64_t first, int64_t count);

}  // namespace orthros::hopper
