// The order of a norm's row sum, whatever the number of threads that share it.
#pragma once

#include "reference/hopper/rounding.hpp"

namespace orthros::hopper {

// Values that one thread sums in order: 16 bytes of bf16.
inline constexpr int64_t norm_group = 8;

ORTHROS_HOST_DEVICE inline float norm_value(uint16_t bits) {
  return widen_bf16(bits);
}
ORTHROS_HOST_DEVICE inline float norm_value(float value) {
  return value;
}

// Group g: x[8g]^2, then each next value's square by a fused multiply-add. x: bf16 bit patterns or
// floats. Values from `width` on count as zeros, which change nothing.
template <class T>
ORTHROS_HOST_DEVICE float group_sum(const T* x, int64_t group, int64_t width) {
  const int64_t first = group * norm_group;
  const int64_t end = first + norm_group < width ? first + norm_group : width;
  float sum = 0.0f;
  for (int64_t i = first; i < end; ++i) sum = fused(norm_value(x[i]), norm_value(x[i]), sum);
  return sum;
}

// The number of groups, rounded up to a power of two.
ORTHROS_HOST_DEVICE inline int64_t padded_groups(int64_t width) {
  int64_t padded = 1;
  while (padded * norm_group < width) padded *= 2;
  return padded;
}

// What group g of `held` < padded holds after the levels down to h = held of the halving tree
//   a[g] = group_sum(g) (0 past the last group); for h = padded/2, padded/4, .., 1:
//   a[g] = a[g] + a[g + h] for g < h.
// T threads of a power of two hold groups t, t + T, ..: they halve in registers down to h = T, then
// across warps, then by shuffles.
template <class T>
ORTHROS_HOST_DEVICE float halved_sum(const T* x, int64_t width, int64_t group, int64_t held,
                                     int64_t padded) {
  if (group * norm_group >= width) return 0.0f;
  if (held == padded) return group_sum(x, group, width);
  return add(halved_sum(x, width, group, 2 * held, padded),
             halved_sum(x, width, group + held, 2 * held, padded));
}

// The sum of squares of a row: a[0].
template <class T>
ORTHROS_HOST_DEVICE float sum_of_squares(const T* x, int64_t width) {
  return halved_sum(x, width, 0, 1, padded_groups(width));
}

// 1 / sqrt(mean + eps): three IEEE operations.
ORTHROS_HOST_DEVICE inline float inverse_root(float mean, float eps) {
  return reciprocal(square_root(add(mean, eps)));
}
// The same of sum / width, one more.
ORTHROS_HOST_DEVICE inline float inverse_root(float sum, int64_t width, float eps) {
  return inverse_root(divide(sum, static_cast<float>(width)), eps);
}

// gain: the stored one, or add(1, stored) where norms are zero-centred.
ORTHROS_HOST_DEVICE inline float normed(float x, float inverse, float gain) {
  return multiply(multiply(x, inverse), gain);
}

}  // namespace orthros::hopper
