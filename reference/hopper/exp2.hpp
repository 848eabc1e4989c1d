// 2^t as a polynomial in fused multiply-adds.
#pragma once

#include "reference/hopper/portable.hpp"

namespace orthros::hopper {

// Minimax on [-1/2, 1/2] of 2^f = 1 + f (c1 + f (c2 + f (c3 + f c4))) by relative error, with the
// constant held at 1 and each coefficient in turn rounded to float and the others fitted again.
// Relative error: 3.6e-6 (2^-18.1), 2^-9 of what rounding to bf16 adds. An even degree costs
// nothing for the constant: the error's alternation has a zero at f = 0 by itself.
inline constexpr float exp2_c1 = 0x1.62dfcap-1f;
inline constexpr float exp2_c2 = 0x1.ebf1b8p-3f;
inline constexpr float exp2_c3 = 0x1.ca8f4ap-5f;
inline constexpr float exp2_c4 = 0x1.408b70p-7f;

// t is clamped from below at this, where the result is exactly +0.
inline constexpr float exp2_least = -127.0f;
// The largest t that power_of_two may be given.
inline constexpr float exp2_most = 127.0f;

// 1.5 2^23 + 127: what is added to it is rounded to a whole number, and the low bits of the sum are
// that number with a float's exponent bias.
inline constexpr float exp2_magic = 12583039.0f;

// 2^t for t <= 127. t = 0 gives exactly 1, every t < -126.5 (-inf among them) exactly +0, NaN NaN.
ORTHROS_HOST_DEVICE inline float power_of_two(float t) {
  t = larger(t, exp2_least);
  const float z = add(t, exp2_magic);
  const float f = subtract(t, subtract(z, exp2_magic));
  float p = fused(f, exp2_c4, exp2_c3);
  p = fused(f, p, exp2_c2);
  p = fused(f, p, exp2_c1);
  p = fused(f, p, 1.0f);
  return multiply(p, from_bits(bits_of(z) << 23));
}

}  // namespace orthros::hopper
