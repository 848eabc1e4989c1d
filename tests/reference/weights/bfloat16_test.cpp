// Tests of bfloat16 and float16 against arithmetic on real values, not on bits.
#include "reference/weights/bfloat16.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/weights/counter_random.hpp"
#include "reference/weights/float16.hpp"

namespace orthros {
namespace {

// The value nearest to x among multiples of the place value, ties to the even multiple. Scaling by
// a power of two is exact, and nearbyint rounds ties to even.
double nearest_bfloat16(double x) {
  int exponent = 0;  // |x| in [2^(exponent-1), 2^exponent)
  std::frexp(x, &exponent);
  const int place = std::max(exponent - 8, -133);  // 8 significant bits; 2^-133 is the least value
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -place)), place);
  return std::abs(rounded) >= 0x1p128 ? std::copysign(INFINITY, x) : rounded;
}

void expect_nearest(double x) {
  const double rounded = static_cast<double>(bfloat16(x));
  ASSERT_EQ(std::bit_cast<uint64_t>(rounded), std::bit_cast<uint64_t>(nearest_bfloat16(x)))
      << std::hexfloat << x;
  const auto single = static_cast<float>(x);
  if (static_cast<double>(single) == x) {
    ASSERT_EQ(bfloat16(single).bits(), bfloat16(x).bits()) << std::hexfloat << x;
  }
}

double value_of(uint32_t bits) {
  return static_cast<double>(bfloat16::from_bits(static_cast<uint16_t>(bits)));
}

TEST(bfloat16, every_pattern_survives_float_and_double) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto value = bfloat16::from_bits(static_cast<uint16_t>(bits));
    const bool is_nan = (bits & 0x7fff) > 0x7f80;
    const uint32_t expected = is_nan ? bits | 0x40 : bits;  // a signalling NaN is quieted
    ASSERT_EQ(bfloat16(static_cast<float>(value)).bits(), expected);
    ASSERT_EQ(bfloat16(static_cast<double>(value)).bits(), expected);
  }
}

TEST(bfloat16, subnormals_are_kept) {
  EXPECT_EQ(value_of(0x0001), 0x1p-133);  // 9.1835e-41
  EXPECT_EQ(bfloat16(0x1p-133).bits(), 0x0001);
  EXPECT_EQ(bfloat16(0x1p-127f).bits(), 0x0040);
  EXPECT_EQ(bfloat16(0x1p-127).bits(), 0x0040);
  EXPECT_EQ(bfloat16(-0x1p-127).bits(), 0x8040);
}

TEST(bfloat16, midpoints_of_all_neighbours_go_to_even_and_their_neighbours_do_not) {
  for (uint32_t bits = 0; bits < 0x7f80; ++bits) {
    const double above = bits == 0x7f7f ? 0x1p128 : value_of(bits + 1);
    const double middle = (value_of(bits) + above) / 2;  // exact in double
    for (const double sign : {1.0, -1.0}) {
      expect_nearest(sign * middle);
      // One unit of the double away: a conversion through float would land on the midpoint first.
      expect_nearest(sign * std::nextafter(middle, 0.0));
      expect_nearest(sign * std::nextafter(middle, INFINITY));
    }
  }
}

TEST(bfloat16, random_doubles_and_floats_round_to_nearest) {
  const CounterRandom random(1, "bfloat16");
  for (uint64_t i = 0; i < 200000; ++i) {
    const auto any = std::bit_cast<double>(random.bits(2 * i));
    if (std::isfinite(any)) expect_nearest(any);
    const auto single = std::bit_cast<float>(static_cast<uint32_t>(random.bits(2 * i + 1)));
    if (std::isfinite(single)) expect_nearest(static_cast<double>(single));
  }
}

TEST(bfloat16, extremes_round_to_zero_or_infinity_with_their_sign) {
  EXPECT_EQ(bfloat16(0.0).bits(), 0x0000);
  EXPECT_EQ(bfloat16(-0.0).bits(), 0x8000);
  EXPECT_EQ(bfloat16(-0.0f).bits(), 0x8000);
  EXPECT_EQ(bfloat16(std::numeric_limits<double>::denorm_min()).bits(), 0x0000);
  EXPECT_EQ(bfloat16(-std::numeric_limits<double>::denorm_min()).bits(), 0x8000);
  EXPECT_EQ(bfloat16(0x1p-134).bits(), 0x0000);  // a tie between 0 and the least subnormal
  EXPECT_EQ(bfloat16(std::numeric_limits<float>::max()).bits(), 0x7f80);
  EXPECT_EQ(bfloat16(std::numeric_limits<double>::max()).bits(), 0x7f80);
  EXPECT_EQ(bfloat16(-INFINITY).bits(), 0xff80);
  EXPECT_EQ(bfloat16(-std::numeric_limits<double>::infinity()).bits(), 0xff80);
}

TEST(bfloat16, nan_stays_nan_whatever_its_payload) {
  for (int bit = 0; bit < 23; ++bit) {
    const uint32_t single = 0x7f800000u | (1u << bit);
    ASSERT_TRUE(std::isnan(static_cast<float>(bfloat16(std::bit_cast<float>(single))))) << bit;
    ASSERT_TRUE(std::isnan(static_cast<float>(bfloat16(std::bit_cast<float>(single | 1u << 31)))));
  }
  for (int bit = 0; bit < 52; ++bit) {
    const uint64_t wide = 0x7ff0000000000000u | (uint64_t{1} << bit);
    ASSERT_TRUE(std::isnan(static_cast<float>(bfloat16(std::bit_cast<double>(wide))))) << bit;
  }
  EXPECT_EQ(bfloat16(std::bit_cast<float>(0xffffffffu)).bits(), 0xffff);
}

TEST(float16, every_pattern_has_the_value_that_its_fields_say) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto value = static_cast<float>(float16{static_cast<uint16_t>(bits)});
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const int fraction = static_cast<int>(bits & 1023);
    const double sign = bits >> 15 != 0 ? -1.0 : 1.0;
    if (exponent == 31 && fraction != 0) {
      ASSERT_TRUE(std::isnan(value));
      continue;
    }
    const double expected = exponent == 31  ? INFINITY
                            : exponent == 0 ? std::ldexp(fraction, -24)
                                            : std::ldexp(1024 + fraction, exponent - 25);
    ASSERT_EQ(static_cast<double>(value), sign * expected) << bits;
    ASSERT_EQ(std::signbit(value), bits >> 15 != 0) << bits;
  }
}

}  // namespace
}  // namespace orthros
