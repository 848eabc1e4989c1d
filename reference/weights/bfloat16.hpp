// bfloat16: the upper half of an IEEE float, correctly rounded from float and from double.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace orthros {

// Two bytes: sign, 8 exponent bits (bias 127), 7 significand bits. Ours because Eigen 3.4's flushes
// subnormals to zero and rounds a double twice (through float), and because a checkpoint's bits
// must pass through unchanged. Rounding is to nearest, ties to even; subnormals are kept; what is
// at or past the midpoint above the largest finite value becomes inf; NaN stays NaN, quieted, with
// the upper bits of its payload. Conversion to float and double is exact.
class bfloat16 {
 public:
  bfloat16() = default;
  explicit constexpr bfloat16(float value) : bits_(round(value)) {}
  explicit constexpr bfloat16(double value) : bits_(round(value)) {}

  static constexpr bfloat16 from_bits(uint16_t bits) {
    bfloat16 value(0.0f);
    value.bits_ = bits;
    return value;
  }
  constexpr uint16_t bits() const { return bits_; }

  explicit constexpr operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits_) << 16);
  }
  explicit constexpr operator double() const {
    return static_cast<double>(static_cast<float>(*this));
  }

 private:
  static constexpr uint16_t quiet_bit = 0x0040;

  static constexpr uint16_t round(float value) {
    const uint32_t u = std::bit_cast<uint32_t>(value);
    if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((u >> 16) | quiet_bit);
    // Half of the last kept place less one, plus that place's own bit: ties go to even. The carry
    // runs on into the exponent, from subnormal to normal and from the largest finite to inf.
    return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }

  // Straight from the double's 53 bits; a float in between would round a second time.
  static constexpr uint16_t round(double value) {
    const uint64_t u = std::bit_cast<uint64_t>(value);
    const uint32_t sign = static_cast<uint32_t>(u >> 48) & 0x8000u;
    const int64_t biased = static_cast<int64_t>((u >> 52) & 0x7ff);
    const uint64_t fraction = u & 0xfffffffffffffu;
    if (biased == 0x7ff) {
      const uint32_t payload =
          fraction == 0 ? 0u : (static_cast<uint32_t>(fraction >> 45) | quiet_bit);
      return static_cast<uint16_t>(sign | 0x7f80u | payload);
    }
    const int64_t exponent = biased - 1023 + 127;  // as bfloat16 biases it
    if (exponent >= 0xff) return static_cast<uint16_t>(sign | 0x7f80u);
    if (exponent < -7) return static_cast<uint16_t>(sign);  // below half the least subnormal
    // Keep 8 significant bits, fewer where the result is subnormal. A subnormal double never gets
    // here, so the leading one is there to be put back.
    const uint64_t significand = fraction | (uint64_t{1} << 52);
    const int64_t shift = exponent > 0 ? 45 : 46 - exponent;
    const uint64_t half = uint64_t{1} << (shift - 1);
    uint64_t kept = significand >> shift;
    const uint64_t rest = significand & (2 * half - 1);
    if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
    // A normal `kept` holds the leading one, worth one unit of the exponent field.
    const uint64_t base = exponent > 0 ? static_cast<uint64_t>(exponent - 1) << 7 : 0;
    return static_cast<uint16_t>(sign | (base + kept));
  }

  uint16_t bits_;
};

static_assert(sizeof(bfloat16) == 2 && std::is_trivially_copyable_v<bfloat16> &&
              std::is_trivially_default_constructible_v<bfloat16>);

}  // namespace orthros
