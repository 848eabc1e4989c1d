// Between float and e4m3: the eight bits of a cache entry where a cache has eight.
#pragma once

#include "reference/hopper/portable.hpp"

namespace orthros::hopper {

// Sign, 4 exponent bits (bias 7), 3 of significand, subnormals; the largest magnitude written is
// 448. To nearest, ties to even; what is larger, infinity among it, becomes 448; NaN becomes 0x7f:
// what a device's cvt.rn.satfinite.e4m3x2.f32 does.
ORTHROS_HOST_DEVICE inline uint8_t round_e4m3(float value) {
#ifdef __CUDA_ARCH__
  uint16_t pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
  return static_cast<uint8_t>(pair & 0xff);
#else
  const uint32_t bits = bits_of(value);
  const auto sign = static_cast<uint8_t>(bits >> 24 & 0x80);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7f;
  if (magnitude >= bits_of(448.0f)) return static_cast<uint8_t>(sign | 0x7e);
  uint32_t rounded = 0;
  if (magnitude < bits_of(0x1p-6f)) {
    // In units of the subnormals, 2^-9: the sum's last place is one.
    rounded = bits_of(add(multiply(from_bits(magnitude), 0x1p9f), 0x1p23f)) & 0xf;
  } else {
    rounded = ((magnitude + 0x7ffffu + (magnitude >> 20 & 1)) >> 20) - (120 << 3);
  }
  return static_cast<uint8_t>(sign | rounded);
#endif
}

// A cache's scales are 2^e with e in this range, so that every product with one is exact and every
// entry times its scale is a bf16 number.
inline constexpr int least_e4m3_exponent = -16;
inline constexpr int most_e4m3_exponent = 7;

// 2^-exponent, by which a value is multiplied before it is rounded.
ORTHROS_HOST_DEVICE inline float inverse_scale(int exponent) {
  return from_bits(static_cast<uint32_t>(127 - exponent) << 23);
}

// e4m3's bits, moved to where bf16 has sign, exponent and significand, are the entry times 2^-120.
// This is 2^(120 + exponent) in bf16, which makes the entry times its scale of them. All 256
// patterns are numbers: 0x7f and 0xff, of which no NaN remains, are +-480.
ORTHROS_HOST_DEVICE inline uint16_t entry_factor(int exponent) {
  return static_cast<uint16_t>((127 + 120 + exponent) << 7);
}

// An entry times 2^exponent as bf16 bits, exactly.
ORTHROS_HOST_DEVICE inline uint16_t widen_e4m3(uint8_t entry, int exponent) {
  const uint32_t moved =
      (static_cast<uint32_t>(entry) & 0x80u) << 8 | (static_cast<uint32_t>(entry) & 0x7fu) << 4;
  const uint32_t factor = entry_factor(exponent);
  return static_cast<uint16_t>(bits_of(multiply(from_bits(moved << 16), from_bits(factor << 16))) >>
                               16);
}

// The entry that a bf16 value, given as float, leaves in a cache of scale 2^exponent.
ORTHROS_HOST_DEVICE inline uint8_t entry_of(float value, int exponent) {
  return round_e4m3(multiply(value, inverse_scale(exponent)));
}

}  // namespace orthros::hopper
