// e4m3 entries against a table of all of them, and the scales that a cache has for them.
#include "reference/hopper/e4m3.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "reference/hopper/kv_scales.hpp"
#include "reference/hopper/rounding.hpp"
#include "reference/spec/config.hpp"

namespace orthros::hopper {
namespace {

// Magnitude of code 0 to 0x7e by the format's definition.
double magnitude_of(int code) {
  const int exponent = code >> 3;
  const int significand = code & 7;
  if (exponent == 0) return std::ldexp(significand, -9);
  return std::ldexp(8 + significand, exponent - 10);
}

// The nearest number, of two the one with an even last bit; past the largest, that.
uint8_t nearest(float value) {
  if (std::isnan(value)) return 0x7f;
  const double magnitude = std::abs(static_cast<double>(value));
  int best = 0;
  for (int code = 0; code <= 0x7e; ++code) {
    const double off = std::abs(magnitude_of(code) - magnitude);
    const double best_off = std::abs(magnitude_of(best) - magnitude);
    if (off < best_off || (off == best_off && code % 2 == 0)) best = code;
  }
  if (magnitude > magnitude_of(0x7e)) best = 0x7e;
  return static_cast<uint8_t>(best | (std::signbit(value) ? 0x80 : 0));
}

TEST(e4m3, every_bf16_value_becomes_the_nearest_entry) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = widen_bf16(static_cast<uint16_t>(bits));
    ASSERT_EQ(round_e4m3(value), nearest(value)) << "bf16 " << bits;
  }
}

TEST(e4m3, values_between_entries_that_no_bf16_is_are_rounded_once) {
  for (int code = 0; code < 0x7e; ++code) {
    const auto low = static_cast<float>(magnitude_of(code));
    const auto high = static_cast<float>(magnitude_of(code + 1));
    const float middle = (low + high) / 2.0f;
    const auto even = static_cast<uint8_t>(code + code % 2);
    EXPECT_EQ(round_e4m3(middle), even) << code;
    EXPECT_EQ(round_e4m3(std::nextafter(middle, 0.0f)), code) << code;
    EXPECT_EQ(round_e4m3(std::nextafter(middle, 1e9f)), code + 1) << code;
    EXPECT_EQ(round_e4m3(-middle), even | 0x80) << code;
  }
}

TEST(e4m3, every_entry_times_every_scale_is_read_exactly) {
  for (int exponent = least_e4m3_exponent; exponent <= most_e4m3_exponent; ++exponent) {
    for (int entry = 0; entry < 256; ++entry) {
      const int code = entry & 0x7f;
      const double magnitude = code == 0x7f ? 480.0 : magnitude_of(code);
      const double expected = std::ldexp(entry >= 0x80 ? -magnitude : magnitude, exponent);
      const float read = widen_bf16(widen_e4m3(static_cast<uint8_t>(entry), exponent));
      ASSERT_EQ(static_cast<double>(read), expected) << entry << " " << exponent;
      ASSERT_EQ(std::signbit(read), entry >= 0x80) << entry;
      if (code != 0x7f) {
        ASSERT_EQ(entry_of(read, exponent), entry) << exponent;
      }
    }
  }
}

TEST(e4m3, what_no_entry_reaches_is_the_largest_and_nan_the_one_past_it) {
  for (const float value : {449.0f, 463.0f, 464.0f, 1e30f, std::numeric_limits<float>::max(),
                            std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(round_e4m3(value), 0x7e) << value;
    EXPECT_EQ(round_e4m3(-value), 0xfe) << value;
  }
  EXPECT_EQ(round_e4m3(std::numeric_limits<float>::quiet_NaN()), 0x7f);
}

RC_GTEST_PROP(kv_scales, a_fitted_scale_is_the_least_that_holds_twice_the_largest_seen, ()) {
  const auto bits = *rc::gen::inRange<uint16_t>(1, 0x7f80).as("bf16");
  const float most = widen_bf16(bits);
  const int exponent = scale_exponent(most);
  RC_ASSERT(exponent >= least_e4m3_exponent && exponent <= most_e4m3_exponent);
  if (exponent < most_e4m3_exponent) RC_ASSERT(2.0 * most <= std::ldexp(448.0, exponent));
  if (exponent > least_e4m3_exponent) RC_ASSERT(2.0 * most > std::ldexp(448.0, exponent - 1));
}

TEST(kv_scales, are_each_heads_own) {
  ModelSpec spec = load_model_spec("qwen3-8b");
  spec.layers.resize(2);
  const auto& mixer = std::get<SoftmaxAttention>(spec.layers[0].mixer);
  constexpr size_t tokens = 3;
  const auto row = static_cast<size_t>(mixer.kv_width());
  std::vector<std::vector<uint16_t>> keys(2, std::vector<uint16_t>(tokens * row, 0));
  auto values = keys;
  for (size_t layer = 0; layer < 2; ++layer) {
    for (int64_t head = 0; head < mixer.kv_heads; ++head) {
      // Somewhere in the head, of somewhere in the sequence, negative.
      const size_t at = (layer + 1) * row + static_cast<size_t>(head * mixer.head_width + head);
      const auto exponent = static_cast<int>(head);
      keys[layer][at] = round_bf16(-std::ldexp(224.0f, exponent - 8));
      values[layer][at] = round_bf16(std::ldexp(225.0f, exponent - 8));
    }
  }
  const KvScales scales = fitted_scales(spec, keys, values);
  for (int64_t layer = 0; layer < 2; ++layer) {
    for (int64_t head = 0; head < mixer.kv_heads; ++head) {
      EXPECT_EQ(scales.exponent(layer, false, head), head - 8);
      EXPECT_EQ(scales.exponent(layer, true, head), head - 7);
      EXPECT_EQ(scales.of_layer(layer)[static_cast<size_t>(mixer.kv_heads + head)], head - 7);
    }
  }
}

}  // namespace
}  // namespace orthros::hopper
