// The order of attention: which keys form a block and a split, how weights are summed and merged.
#pragma once

#include "reference/hopper/exp2.hpp"

namespace orthros::hopper {

// Keys a step of the weighted sum of values takes, at absolute positions 16 i .. 16 i + 15.
inline constexpr int64_t block_keys = 16;
// Keys of a split of output attention, at absolute positions 512 s .. 512 s + 511.
inline constexpr int64_t split_keys = 512;
// Chains of a row sum: the key at absolute position j belongs to chain j mod 8.
inline constexpr int64_t sum_chains = 8;

// log2(e) / sqrt(width), computed in double and rounded once: scores in units of powers of two.
inline float score_scale(int64_t width) {
  return static_cast<float>(1.4426950408889634074 / std::sqrt(static_cast<double>(width)));
}

// The largest score in those units. Rounding is monotone, so the largest of several splits' values
// is the value of the largest score.
ORTHROS_HOST_DEVICE inline float scaled_most(float most, float scale) {
  return multiply(most, scale);
}

// A visible key's unrounded weight. A key that is not visible has weight +0.
ORTHROS_HOST_DEVICE inline float weight_of(float score, float scale, float most_scaled) {
  return power_of_two(fused(score, scale, -most_scaled));
}

// The row sum from its eight chains.
ORTHROS_HOST_DEVICE inline float sum_of(const float* chains) {
  return add(add(add(chains[0], chains[1]), add(chains[2], chains[3])),
             add(add(chains[4], chains[5]), add(chains[6], chains[7])));
}

// A split's factor in the merge: 2^(its maximum - the largest), exactly 1 for the largest itself
// and exactly +0 for a split without keys (maximum -inf).
ORTHROS_HOST_DEVICE inline float merge_factor(float most_scaled, float largest_scaled) {
  return power_of_two(subtract(most_scaled, largest_scaled));
}

// Folds a split's sum, or one element of its unnormalised output, behind those before it. The first
// split's is multiply(factor, value).
ORTHROS_HOST_DEVICE inline float fold(float before, float factor, float value) {
  return fused(factor, value, before);
}

}  // namespace orthros::hopper
