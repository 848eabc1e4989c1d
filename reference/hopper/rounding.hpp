// Between float and bf16 bit patterns.
#pragma once

#include "reference/hopper/portable.hpp"

namespace orthros::hopper {

// To nearest, ties to even, subnormals kept, overflow to inf; any NaN becomes 0x7fff: what a device's
// cvt.rn.bf16.f32 does.
ORTHROS_HOST_DEVICE inline uint16_t round_bf16(float value) {
#ifdef __CUDA_ARCH__
  uint16_t rounded;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded) : "f"(value));
  return rounded;
#else
  const uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
#endif
}

ORTHROS_HOST_DEVICE inline float widen_bf16(uint16_t bits) {
  return from_bits(static_cast<uint32_t>(bits) << 16);
}

}  // namespace orthros::hopper
