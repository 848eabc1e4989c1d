// Rotary frequencies against what papers and checkpoints say of them.
#include "reference/spec/rope.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace orthros {
namespace {

Rope unscaled(double theta, int64_t width) {
  Rope rope;
  rope.theta = theta;
  rope.width = width;
  return rope;
}

Rope llama31() {
  Rope rope = unscaled(5e5, 128);
  rope.scaling = RopeScaling::llama3;
  rope.factor = 8.0;
  rope.low_freq_factor = 1.0;
  rope.high_freq_factor = 4.0;
  rope.original_max_position = 8192;
  return rope;
}

Rope yarn(double theta, int64_t width, double factor, int64_t original) {
  Rope rope = unscaled(theta, width);
  rope.scaling = RopeScaling::yarn;
  rope.factor = factor;
  rope.original_max_position = original;
  return rope;
}

// pow's relative error is under one ulp (2^-52 = 2.2e-16); a division and at most four products and
// sums of positive numbers follow it, each half an ulp: 1e-15 covers them.
constexpr double few_roundings = 1e-15;

TEST(rope, frequencies_are_powers_of_the_base) {
  const auto frequencies = inverse_frequencies(unscaled(1e6, 128));
  ASSERT_EQ(frequencies.size(), 64u);
  EXPECT_EQ(frequencies[0], 1.0);
  EXPECT_NEAR(frequencies[32], 1e-3, 1e-3 * few_roundings);  // 1e6^(-1/2)
  EXPECT_NEAR(frequencies[16], 1.0 / std::sqrt(1000.0), few_roundings);
  for (size_t i = 0; i < 64; ++i) {
    const long double exact = std::pow(1e6L, -static_cast<long double>(i) / 64.0L);
    EXPECT_NEAR(frequencies[i] / static_cast<double>(exact), 1.0, few_roundings) << i;
  }
}

TEST(rope, only_the_rotated_width_counts) {
  const auto frequencies = inverse_frequencies(unscaled(1e7, 64));  // a quarter of 256
  ASSERT_EQ(frequencies.size(), 32u);
  EXPECT_NEAR(frequencies[16], 1.0 / std::sqrt(1e7), few_roundings);
}

TEST(rope, linear_divides_every_frequency) {
  Rope rope = unscaled(1e4, 64);
  const auto plain = inverse_frequencies(rope);
  rope.scaling = RopeScaling::linear;
  rope.factor = 4.0;
  const auto scaled = inverse_frequencies(rope);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(scaled[i] * 4.0, plain[i]) << i;
}

// Llama-3.1-8B: 0..28 unchanged, 29..34 blended, 35..63 divided by 8. The ratios are given to six
// digits, so half of the last one is the tolerance.
TEST(rope, llama3_scales_as_published) {
  const auto plain = inverse_frequencies(unscaled(5e5, 128));
  const auto scaled = inverse_frequencies(llama31());
  ASSERT_EQ(scaled.size(), 64u);
  for (size_t i = 0; i <= 28; ++i) EXPECT_EQ(scaled[i], plain[i]) << i;
  const double blended[] = {.828168, .643743, .493507, .371122, .271425, .190211};
  for (size_t i = 29; i <= 34; ++i) {
    EXPECT_NEAR(scaled[i] / plain[i], blended[i - 29], 5.1e-7) << i;
  }
  for (size_t i = 35; i < 64; ++i) EXPECT_EQ(scaled[i], plain[i] / 8.0) << i;
}

// With low 2 and high 8 the ends move to wavelengths of 4096 and 1024, and the blend between them
// is linear in original / wavelength.
TEST(rope, llama3_blends_between_its_two_factors) {
  Rope rope = llama31();
  rope.low_freq_factor = 2.0;
  rope.high_freq_factor = 8.0;
  const auto plain = inverse_frequencies(unscaled(5e5, 128));
  const auto scaled = inverse_frequencies(rope);
  int kept = 0, blended = 0, divided = 0;
  for (size_t i = 0; i < 64; ++i) {
    const double rotations = 8192.0 * plain[i] / (2.0 * std::numbers::pi);
    if (rotations > 8.0) {
      EXPECT_EQ(scaled[i], plain[i]) << i;
      ++kept;
    } else if (rotations < 2.0) {
      EXPECT_EQ(scaled[i], plain[i] / 8.0) << i;
      ++divided;
    } else {
      const double share = (rotations - 2.0) / 6.0;
      // rotations is up to 8 and cancels against 2: a few more ulps.
      EXPECT_NEAR(scaled[i] / plain[i], share + (1.0 - share) / 8.0, 8 * few_roundings) << i;
      ++blended;
    }
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(blended, 0);
  EXPECT_GT(divided, 0);
}

// "YaRN: Efficient Context Window Extension of Large Language Models" (Peng et al.), written from
// its section 3.2: with r(i) = L / lambda_i rotations over the trained length L, a channel keeps
// its frequency above beta rotations, is divided by s below alpha, and blends linearly in between.
// Checkpoints blend linearly in the channel index between the (rounded) channels of beta and
// alpha, which is what the ramp below does: i(r) = d ln(L / (2 pi r)) / (2 ln b).
long double yarn_frequency(const Rope& rope, size_t i) {
  const long double width = static_cast<long double>(rope.width);
  const long double base = rope.theta;
  const long double length = static_cast<long double>(rope.original_max_position);
  const auto channel = [&](long double rotations) {
    return width * std::log(length / (2.0L * std::numbers::pi_v<long double> * rotations)) /
           (2.0L * std::log(base));
  };
  long double first = channel(rope.beta_fast);
  long double last = channel(rope.beta_slow);
  if (rope.truncate) {
    first = std::floor(first);
    last = std::ceil(last);
  }
  first = std::max(first, 0.0L);
  last = std::min(last, width - 1.0L);
  const long double frequency = std::pow(base, -2.0L * static_cast<long double>(i) / width);
  const long double at = static_cast<long double>(i);
  const long double interpolated =
      at <= first ? 0.0L : (at >= last ? 1.0L : (at - first) / (last - first));
  return frequency * ((1.0L - interpolated) + interpolated / static_cast<long double>(rope.factor));
}

void expect_yarn(const Rope& rope) {
  const auto frequencies = inverse_frequencies(rope);
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const auto exact = static_cast<double>(yarn_frequency(rope, i));
    // Unrounded ends of the ramp carry a few ulps of their own, of at most `width` channels.
    const double slack = rope.truncate ? 4 * few_roundings : 4 * few_roundings * 128;
    EXPECT_NEAR(frequencies[i] / exact, 1.0, slack) << i;
  }
}

TEST(rope, yarn_follows_its_paper) {
  expect_yarn(yarn(1e6, 128, 4.0, 32768));  // as Qwen3's card says
  expect_yarn(yarn(1e4, 128, 16.0, 4096));  // the paper's Llama 2 at 64K
  expect_yarn(yarn(1e4, 64, 40.0, 4096));
  expect_yarn(yarn(5e5, 16, 8.0, 64));  // the slow end is channel 2 of 8
  Rope rough = yarn(1.5e5, 64, 32.0, 4096);
  rough.truncate = false;
  expect_yarn(rough);
  Rope betas = yarn(1e6, 128, 4.0, 32768);
  betas.beta_fast = 64.0;
  betas.beta_slow = 2.0;
  expect_yarn(betas);
}

TEST(rope, yarn_keeps_fast_channels_and_divides_slow_ones) {
  const auto plain = inverse_frequencies(unscaled(1e6, 128));
  const auto scaled = inverse_frequencies(yarn(1e6, 128, 4.0, 32768));
  // 32 rotations of 32768: channel 64 ln(32768 / 64 pi) / ln 1e6 = 23.6; one: 39.65.
  for (size_t i = 0; i <= 23; ++i) EXPECT_EQ(scaled[i], plain[i]) << i;
  for (size_t i = 24; i < 40; ++i) {
    EXPECT_LT(scaled[i], plain[i]) << i;
    EXPECT_GT(scaled[i], plain[i] / 4.0) << i;
  }
  for (size_t i = 40; i < 64; ++i) EXPECT_EQ(scaled[i], plain[i] / 4.0) << i;
}

// One rotation of 6 positions lies before channel 0, so the ramp is from 0 to 0.
TEST(rope, a_ramp_of_no_length_keeps_channel_0_and_divides_the_rest) {
  const auto plain = inverse_frequencies(unscaled(1e6, 128));
  const auto scaled = inverse_frequencies(yarn(1e6, 128, 4.0, 6));
  EXPECT_EQ(scaled[0], plain[0]);
  for (size_t i = 1; i < 64; ++i) EXPECT_EQ(scaled[i], plain[i] / 4.0) << i;
}

// Eq. 22 of the YaRN paper: sqrt(1/t) = 0.1 ln(s) + 1, on q and on k alike.
TEST(rope, yarn_attention_factor_is_the_papers) {
  EXPECT_NEAR(default_yarn_attention_factor(4.0), 1.1386294361119891, few_roundings);
  EXPECT_NEAR(default_yarn_attention_factor(std::exp(10.0)), 2.0, 2 * few_roundings);
  EXPECT_EQ(default_yarn_attention_factor(1.0), 1.0);
  EXPECT_EQ(default_yarn_attention_factor(0.5), 1.0);
}

}  // namespace
}  // namespace orthros
