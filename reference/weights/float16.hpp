// float16: IEEE 754 binary16 as checkpoints store it; it is read, never computed in.
#pragma once

#include <bit>
#include <cstdint>

namespace orthros {

// Two bytes: sign, 5 exponent bits (bias 15), 10 significand bits. The conversion to float is exact
// for every pattern: subnormals, infinities and NaN payloads included.
struct float16 {
  uint16_t bits = 0;

  explicit constexpr operator float() const {
    const uint32_t sign = (uint32_t{bits} & 0x8000u) << 16;
    const uint32_t exponent = (bits >> 10) & 0x1fu;
    const uint32_t fraction = bits & 0x3ffu;
    if (exponent == 0) {  // zero or subnormal: fraction x 2^-24, exact in float
      const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
      return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
    }
    const uint32_t wide_exponent = exponent == 0x1f ? 0xffu : exponent + (127 - 15);
    return std::bit_cast<float>(sign | (wide_exponent << 23) | (fraction << 13));
  }
};

}  // namespace orthros
