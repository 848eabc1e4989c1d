// One step of a dot product as a Hopper tensor core computes it: c + sum of 16 products of bf16.
#pragma once

#include "reference/hopper/portable.hpp"

namespace orthros::hopper {

inline constexpr int64_t step_terms = 16;

// A finite term of a step: value = magnitude 2^(exponent - fraction_bits), signed. A subnormal has
// its type's least normal exponent and no leading one.
struct Term {
  int64_t magnitude;
  int32_t exponent;
  bool negative;
};

ORTHROS_HOST_DEVICE inline Term term_of_bf16(uint16_t bits) {
  const int32_t field = (bits >> 7) & 0xff;
  const int64_t fraction = bits & 0x7f;
  return {field == 0 ? fraction : fraction | 0x80, field == 0 ? -126 : field - 127,
          (bits & 0x8000) != 0};
}

ORTHROS_HOST_DEVICE inline Term term_of_float(float value) {
  const uint32_t bits = bits_of(value);
  const auto field = static_cast<int32_t>((bits >> 23) & 0xff);
  const int64_t fraction = bits & 0x7fffff;
  return {field == 0 ? fraction : fraction | 0x800000, field == 0 ? -126 : field - 127,
          (bits >> 31) != 0};
}

// 25 bits stay below the largest exponent; a step's sum is a whole number of these units.
inline constexpr int32_t kept_bits = 25;

// The term in units of 2^(largest - kept_bits), truncated toward zero.
ORTHROS_HOST_DEVICE inline int64_t in_units(const Term& term, int32_t fraction_bits,
                                            int32_t largest) {
  if (term.magnitude == 0) return 0;  // its exponent may exceed the largest
  const int32_t shift = kept_bits - fraction_bits - (largest - term.exponent);
  int64_t units = 0;
  if (shift >= 0) {
    units = term.magnitude << shift;
  } else if (shift > -64) {
    units = term.magnitude >> -shift;
  }
  return term.negative ? -units : units;
}

// units 2^(largest - kept_bits) to 24 significant bits toward zero, fewer where it is subnormal; at
// or past 2^128 inf. Zero is +0.
ORTHROS_HOST_DEVICE inline float truncated(int64_t units, int32_t largest) {
  if (units == 0) return 0.0f;
  const uint32_t sign = units < 0 ? 0x80000000u : 0u;
  auto magnitude = static_cast<uint64_t>(units < 0 ? -units : units);
  int32_t lowest = largest - kept_bits;  // exponent of magnitude's last bit
  while (magnitude >= (uint64_t{1} << 24) || lowest < -149) {
    magnitude >>= 1;
    ++lowest;
    if (magnitude == 0) return from_bits(sign);
  }
  while (magnitude < (uint64_t{1} << 23) && lowest > -149) {
    magnitude <<= 1;
    --lowest;
  }
  if (magnitude < (uint64_t{1} << 23)) return from_bits(sign | static_cast<uint32_t>(magnitude));
  const int32_t field = lowest + 23 + 127;
  if (field >= 0xff) return from_bits(sign | 0x7f800000u);
  return from_bits(sign | static_cast<uint32_t>(field) << 23 |
                   (static_cast<uint32_t>(magnitude) & 0x7fffffu));
}

inline constexpr uint32_t canonical_nan = 0x7fffffffu;

ORTHROS_HOST_DEVICE inline bool is_nan_bf16(uint16_t bits) {
  return (bits & 0x7fff) > 0x7f80;
}
ORTHROS_HOST_DEVICE inline bool is_infinite_bf16(uint16_t bits) {
  return (bits & 0x7fff) == 0x7f80;
}

// What a step with an infinity or a NaN in it gives: NaN, +inf or -inf; 0 where there is neither.
// NaN: any NaN term, 0 x inf, infinities of both signs.
ORTHROS_HOST_DEVICE inline uint32_t not_finite(float c, const uint16_t* a, const uint16_t* b,
                                               int64_t terms) {
  bool nan = c != c;
  bool positive = bits_of(c) == 0x7f800000u;
  bool negative = bits_of(c) == 0xff800000u;
  for (int64_t i = 0; i < terms; ++i) {
    const bool infinite = is_infinite_bf16(a[i]) || is_infinite_bf16(b[i]);
    const bool zero = (a[i] & 0x7fff) == 0 || (b[i] & 0x7fff) == 0;
    nan = nan || is_nan_bf16(a[i]) || is_nan_bf16(b[i]) || (infinite && zero);
    const bool minus = ((a[i] ^ b[i]) & 0x8000) != 0;
    positive = positive || (infinite && !minus);
    negative = negative || (infinite && minus);
  }
  if (nan || (positive && negative)) return canonical_nan;
  if (positive) return 0x7f800000u;
  return negative ? 0xff800000u : 0u;
}

// RZ24(c + sum of a[i] b[i]), each term first truncated toward zero to 25 bits below the largest
// exponent among the non-zero terms; a product's exponent is the sum of its factors', its
// significand in [0, 4). a, b: bit patterns of `terms` <= 16 bf16 values; terms that are not there
// count as zeros. Equals mma.sync.m16n8k16 (bf16, fp32 accumulation), bit for bit.
ORTHROS_HOST_DEVICE inline float dot_step(float c, const uint16_t* a, const uint16_t* b,
                                          int64_t terms) {
  if (const uint32_t special = not_finite(c, a, b, terms)) return from_bits(special);
  Term products[step_terms];
  const Term start = term_of_float(c);
  int32_t largest = start.magnitude != 0 ? start.exponent : -1024;
  for (int64_t i = 0; i < terms; ++i) {
    const Term x = term_of_bf16(a[i]);
    const Term y = term_of_bf16(b[i]);
    products[i] = {x.magnitude * y.magnitude, x.exponent + y.exponent, x.negative != y.negative};
    if (products[i].magnitude != 0 && products[i].exponent > largest) {
      largest = products[i].exponent;
    }
  }
  int64_t units = in_units(start, 23, largest);
  for (int64_t i = 0; i < terms; ++i) units += in_units(products[i], 14, largest);
  return truncated(units, largest);
}

// The dot product of `length` values: a chain of steps over k in order, 16 at a time, from zero.
// Value k of a is a[k * a_stride], of b likewise.
ORTHROS_HOST_DEVICE inline float dot_chain(const uint16_t* a, int64_t a_stride, const uint16_t* b,
                                           int64_t b_stride, int64_t length) {
  float sum = 0.0f;
  for (int64_t k = 0; k < length; k += step_terms) {
    const int64_t terms = length - k < step_terms ? length - k : step_terms;
    uint16_t x[step_terms];
    uint16_t y[step_terms];
    for (int64_t i = 0; i < terms; ++i) {
      x[i] = a[(k + i) * a_stride];
      y[i] = b[(k + i) * b_stride];
    }
    sum = dot_step(sum, x, y, terms);
  }
  return sum;
}

}  // namespace orthros::hopper
