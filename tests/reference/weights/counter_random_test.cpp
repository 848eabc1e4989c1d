// Tests of CounterRandom against the same definition in 128-bit arithmetic, and of its statistics.
#include "reference/weights/counter_random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

namespace orthros {
namespace {

__extension__ using wide = unsigned __int128;
constexpr wide modulus = wide{1} << 64;
constexpr wide gamma_step = 11400714819323198485u;  // SplitMix64's increment

wide power_of_two(int exponent) {
  return wide{1} << exponent;
}

// SplitMix64's finaliser with division for shifts and an explicit modulus.
wide finalise(wide z) {
  z = (z ^ (z / power_of_two(30))) * 13787848793156543929u % modulus;
  z = (z ^ (z / power_of_two(27))) * 10723151780598845931u % modulus;
  return z ^ (z / power_of_two(31));
}

wide fnv1a(std::string_view text) {
  wide h = 14695981039346656037u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u % modulus;
  return h;
}

uint64_t expected_bits(uint64_t seed, std::string_view name, uint64_t index) {
  const wide key = finalise(finalise((seed + gamma_step) % modulus) ^ fnv1a(name));
  return static_cast<uint64_t>(finalise((key + (wide{index} + 1) * gamma_step) % modulus));
}

TEST(counter_random, the_tests_own_arithmetic_gives_the_published_values) {
  // SplitMix64 from state 1234567: the outputs that its authors' C code prints.
  const std::array<uint64_t, 5> published{6457827717110365317u, 3203168211198807973u,
                                          9817491932198370423u, 4593380528125082431u,
                                          16408922859458223821u};
  for (size_t i = 0; i < published.size(); ++i) {
    EXPECT_EQ(static_cast<uint64_t>(finalise((1234567 + (i + 1) * gamma_step) % modulus)),
              published[i]);
  }
  // FNV-1a's published test vectors.
  EXPECT_EQ(static_cast<uint64_t>(fnv1a("")), 0xcbf29ce484222325u);
  EXPECT_EQ(static_cast<uint64_t>(fnv1a("a")), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(static_cast<uint64_t>(fnv1a("foobar")), 0x85944171f73967e8u);
}

TEST(counter_random, bits_follow_the_definition) {
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{42}, ~uint64_t{0}}) {
    for (const std::string_view name : {"", "a", "model.layers.0.self_attn.q_proj.weight"}) {
      const CounterRandom random(seed, name);
      for (const uint64_t index : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 33, ~uint64_t{0}}) {
        EXPECT_EQ(random.bits(index), expected_bits(seed, name, index));
      }
    }
  }
}

TEST(counter_random, normal_is_the_centred_sum_of_twelve_lanes) {
  const CounterRandom random(7, "w");
  for (uint64_t i = 0; i < 1000; ++i) {
    double sum = 0;  // multiples of 2^-17 below 12: exact
    for (uint64_t lane = 0; lane < 12; ++lane) {
      const uint64_t word = expected_bits(7, "w", 3 * i + lane / 4);
      sum += (static_cast<double>(word / (uint64_t{1} << 16 * (lane % 4)) % 65536) + 0.5) / 65536;
    }
    ASSERT_EQ(random.normal(i), sum - 6);
    ASSERT_EQ(static_cast<double>(static_cast<float>(random.normal(i))), random.normal(i));
  }
}

TEST(counter_random, uniform_is_the_upper_53_bits) {
  const CounterRandom random(7, "w");
  for (uint64_t i = 0; i < 1000; ++i) {
    const uint64_t upper = expected_bits(7, "w", i) / 2048;
    ASSERT_EQ(random.uniform(i), std::ldexp(static_cast<double>(upper), -53));
  }
}

TEST(counter_random, draws_are_usable_at_compile_time) {
  static_assert(CounterRandom(1, "a").bits(0) != CounterRandom(1, "b").bits(0));
  static_assert(CounterRandom(1, "a").normal(5) < 6 && CounterRandom(1, "a").uniform(5) < 1);
}

TEST(counter_random, seeds_names_and_indices_give_different_numbers) {
  std::set<uint64_t> seen;
  const std::array<std::string_view, 4> names{"", "layers.1", "layers.2", "layers.12"};
  for (uint64_t seed = 0; seed < 8; ++seed) {
    for (const std::string_view name : names) {
      for (uint64_t i = 0; i < 1000; ++i) seen.insert(CounterRandom(seed, name).bits(i));
    }
  }
  // 32,000 draws of 64 bits: a repeat by chance has probability 3e-11.
  EXPECT_EQ(seen.size(), 8 * names.size() * 1000);
}

// Bounds below are 5 standard deviations of the statistic, for n independent draws.
constexpr uint64_t draws = 1'000'000;

TEST(counter_random, normal_has_mean_zero_variance_one_and_light_tails) {
  const CounterRandom random(3, "statistics");
  double sum = 0, squares = 0, fourths = 0, product = 0, previous = 0;
  for (uint64_t i = 0; i < draws; ++i) {
    const double z = random.normal(i);
    ASSERT_LT(std::abs(z), 6);
    sum += z;
    squares += z * z;
    fourths += z * z * z * z;
    product += z * previous;
    previous = z;
  }
  const double n = static_cast<double>(draws);
  EXPECT_LT(std::abs(sum / n), 5 / std::sqrt(n));
  // var(z^2) = E z^4 - 1 = 2.9 - 1: twelve uniforms have excess kurtosis -6/5/12 = -0.1.
  EXPECT_LT(std::abs(squares / n - 1), 5 * std::sqrt(1.9 / n));
  // var(z^4) = E z^8 - 2.9^2 is below the normal's 105 - 9.
  EXPECT_LT(std::abs(fourths / n - 2.9), 5 * std::sqrt(96 / n));
  EXPECT_LT(std::abs(product / n), 5 / std::sqrt(n));  // neighbours are uncorrelated
}

TEST(counter_random, streams_are_uncorrelated) {
  const CounterRandom a(3, "layers.0"), b(3, "layers.1"), c(4, "layers.0");
  double names = 0, seeds = 0;
  for (uint64_t i = 0; i < draws; ++i) {
    names += a.normal(i) * b.normal(i);
    seeds += a.normal(i) * c.normal(i);
  }
  const double n = static_cast<double>(draws);
  EXPECT_LT(std::abs(names / n), 5 / std::sqrt(n));
  EXPECT_LT(std::abs(seeds / n), 5 / std::sqrt(n));
}

TEST(counter_random, uniform_fills_its_bins_evenly) {
  constexpr size_t bins = 256;
  std::vector<double> counts(bins, 0);
  const CounterRandom random(5, "statistics");
  for (uint64_t i = 0; i < draws; ++i) {
    counts[static_cast<size_t>(random.uniform(i) * bins)] += 1;
  }
  const double expected = static_cast<double>(draws) / bins;
  double chi_squared = 0;
  for (const double count : counts) chi_squared += (count - expected) * (count - expected);
  chi_squared /= expected;
  // Chi-squared with 255 degrees of freedom: mean 255, standard deviation sqrt(510).
  EXPECT_LT(std::abs(chi_squared - 255), 5 * std::sqrt(510.0));
}

}  // namespace
}  // namespace orthros
