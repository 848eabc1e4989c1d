// exp2, rounding, row sums, norm trees and pointwise functions of the engine's arithmetic.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "reference/hopper/norm_order.hpp"
#include "reference/hopper/pointwise.hpp"
#include "reference/hopper/rotary_table.hpp"
#include "reference/hopper/softmax_order.hpp"
#include "reference/model/rotary.hpp"
#include "reference/weights/bfloat16.hpp"
#include "reference/weights/counter_random.hpp"

namespace orthros::hopper {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
// What exp2.hpp states of its polynomial, and four roundings of 2^-24 in evaluating it.
constexpr double exp2_error = 3.6e-6 + 4 * 0x1p-24;

TEST(exp2, is_as_exact_as_it_says) {
  double worst = 0.0;
  for (int64_t i = -126 * 4096; i <= 127 * 4096; ++i) {
    const float t = static_cast<float>(i) * 0x1p-12f + 0x1p-14f * static_cast<float>(i % 3);
    if (t > exp2_most || t < -126.0f) continue;
    const double exact = std::exp2(static_cast<double>(t));
    worst = std::max(worst, std::abs(static_cast<double>(power_of_two(t)) / exact - 1.0));
  }
  EXPECT_LT(worst, exp2_error);
  EXPECT_GT(worst, 3e-6) << "the stated error is not reached: state a smaller one";
}

TEST(exp2, whole_arguments_give_powers_of_two_exactly) {
  for (int n = -126; n <= 127; ++n) {
    EXPECT_EQ(power_of_two(static_cast<float>(n)), std::ldexp(1.0f, n)) << n;
  }
}

TEST(exp2, masked_keys_give_plus_zero) {
  for (const float t : {-127.0f, -126.6f, -128.0f, -1e6f, -3e38f, -infinity}) {
    EXPECT_EQ(bits_of(power_of_two(t)), 0u) << t;
  }
}

TEST(exp2, nan_stays_nan) {
  EXPECT_TRUE(std::isnan(power_of_two(not_a_number)));
  EXPECT_TRUE(std::isnan(sigmoid(not_a_number)));
  EXPECT_TRUE(std::isnan(silu(not_a_number)));
}

TEST(larger_and_smaller, do_not_hide_nan) {
  EXPECT_TRUE(std::isnan(larger(not_a_number, 1.0f)));
  EXPECT_TRUE(std::isnan(larger(1.0f, not_a_number)));
  EXPECT_TRUE(std::isnan(smaller(not_a_number, 1.0f)));
  EXPECT_TRUE(std::isnan(smaller(1.0f, not_a_number)));
  EXPECT_EQ(larger(-infinity, 2.0f), 2.0f);
  EXPECT_EQ(smaller(3.0f, 2.0f), 2.0f);
}

RC_GTEST_PROP(rounding, is_bfloat16s_except_that_there_is_one_nan, (uint32_t bits)) {
  const float value = from_bits(bits);
  const uint16_t expected = std::isnan(value) ? uint16_t{0x7fff} : bfloat16(value).bits();
  RC_ASSERT(round_bf16(value) == expected);
}

// sigmoid and silu: e^-x off by exp2's error and by its argument's rounding, |x| log2(e) ln(2)
// 2^-23 (product and constant); the sum and the quotient round once each.
TEST(pointwise, sigmoid_and_silu_are_close_to_exact) {
  for (float x = -80.0f; x <= 80.0f; x += 0.0137f) {
    const double exact = 1.0 / (1.0 + std::exp(-static_cast<double>(x)));
    const double error = exp2_error + std::abs(static_cast<double>(x)) * 0x1p-23 + 2 * 0x1p-24;
    EXPECT_NEAR(static_cast<double>(sigmoid(x)) / exact, 1.0, error) << x;
    if (std::abs(x) < 1e-3f) continue;
    EXPECT_NEAR(static_cast<double>(silu(x)) / (static_cast<double>(x) * exact), 1.0, error) << x;
  }
}

TEST(pointwise, far_arguments_saturate) {
  EXPECT_EQ(silu(200.0f), 200.0f);
  EXPECT_EQ(sigmoid(infinity), 1.0f);
  EXPECT_EQ(round_bf16(silu(-200.0f)), round_bf16(-200.0f / (1.0f + std::ldexp(1.0f, 127))));
}

TEST(row_sum, adds_neighbours_then_pairs_then_halves) {
  // Each chain's value is lost if it meets a larger one too early, so that the tree shows.
  const float e = 0x1p-24f;
  const float chains[8] = {1.0f, e, e, e, 1.0f, e, e, e};
  const float by_hand = ((1.0f + e) + (e + e)) + ((1.0f + e) + (e + e));
  EXPECT_EQ(sum_of(chains), by_hand);
  EXPECT_EQ(by_hand, 2.0f + 4 * e);
}

TEST(merge, a_lone_split_is_left_as_it_is) {
  EXPECT_EQ(merge_factor(3.25f, 3.25f), 1.0f);
  EXPECT_EQ(bits_of(merge_factor(-infinity, 3.25f)), 0u);
}

// The tree as T threads would walk it: groups dealt out round robin, halved in place.
float dealt_sum(const std::vector<float>& x, int64_t threads) {
  const auto width = static_cast<int64_t>(x.size());
  const int64_t padded = std::max(padded_groups(width), threads);
  std::vector<float> held;
  for (int64_t g = 0; g < padded; ++g) {
    held.push_back(g * norm_group < width ? group_sum(x.data(), g, width) : 0.0f);
  }
  for (int64_t h = padded / 2; h >= 1; h /= 2) {
    for (int64_t g = 0; g < h; ++g)
      held[static_cast<size_t>(g)] += held[static_cast<size_t>(g + h)];
  }
  return held[0];
}

RC_GTEST_PROP(norm_order, the_tree_does_not_depend_on_the_number_of_threads, ()) {
  const auto width = *rc::gen::inRange<int64_t>(1, 3000).as("width");
  const CounterRandom random(*rc::gen::arbitrary<uint64_t>().as("seed"), "x");
  std::vector<float> x(static_cast<size_t>(width));
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(random.normal(static_cast<uint64_t>(i)));
  }
  const float sum = sum_of_squares(x.data(), width);
  for (const int64_t threads : {1, 32, 128, 1024}) RC_ASSERT(dealt_sum(x, threads) == sum);
  double exact = 0.0;
  for (const float value : x) exact += static_cast<double>(value) * static_cast<double>(value);
  // Each value meets at most 8 fused additions and 9 levels, of 2^-24 each.
  RC_ASSERT(std::abs(static_cast<double>(sum) - exact) <= 18 * 0x1p-24 * exact);
}

TEST(norm_order, bf16_and_float_values_sum_alike) {
  std::vector<uint16_t> bits;
  std::vector<float> values;
  for (uint32_t i = 0; i < 200; ++i) {
    bits.push_back(static_cast<uint16_t>(0x3f00u + 37 * i % 256));
    values.push_back(widen_bf16(bits.back()));
  }
  EXPECT_EQ(sum_of_squares(bits.data(), 200), sum_of_squares(values.data(), 200));
}

TEST(rotary_table, holds_what_the_model_rotates_by) {
  Rope rope;
  rope.theta = 1e4;
  rope.width = 12;
  rope.attention_factor = 1.25;
  const std::vector<float> table = rotary_table(rope, 1000, 3);
  ASSERT_EQ(table.size(), 3u * 6 * 2);
  for (int64_t index = 0; index < 3; ++index) {
    for (size_t i = 0; i < 6; ++i) {
      // Turned by the model, (1, 0) gives the cosine and the sine.
      std::vector<float> head(12, 0.0f);
      head[i] = 1.0f;
      Rotary(rope).rotate<float>(head.data(), 1000 + index);
      const size_t at = (static_cast<size_t>(index) * 6 + i) * 2;
      EXPECT_EQ(table[at], head[i]);
      EXPECT_EQ(table[at + 1], head[i + 6]);
    }
  }
}

}  // namespace
}  // namespace orthros::hopper
