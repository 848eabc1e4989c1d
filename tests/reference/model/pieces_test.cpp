// Norms, rotary embedding, pointwise functions and attention's edges, each alone.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/model/activations.hpp"
#include "reference/model/norm.hpp"
#include "reference/model/recurrence.hpp"
#include "reference/model/rotary.hpp"
#include "reference/model/softmax_attention.hpp"

namespace orthros {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

TEST(rms_norm, divides_by_the_root_mean_square_and_multiplies_by_the_gain) {
  Matrix<double> x(2, 2);
  x << 3, 4, -6, 8;  // mean squares 12.5 and 50
  Vector<double> gain(2);
  gain << 1, 2;
  const Matrix<double> n = rms_norm(x, gain, NormKind::plain, 0.0);
  const double rms[] = {std::sqrt(12.5), std::sqrt(50.0)};
  for (int64_t r = 0; r < 2; ++r) {
    for (int64_t i = 0; i < 2; ++i) {
      const double exact = x(r, i) / rms[r] * gain(i);
      // At most six roundings: two squares and a sum, root, reciprocal, two products.
      EXPECT_NEAR(n(r, i), exact, 6 * epsilon * std::abs(exact));
    }
  }
}

TEST(rms_norm, zero_centred_gain_is_one_more) {
  Matrix<double> x(1, 3);
  x << 1, -2, 4;
  Vector<double> gain(3);
  gain << -0.5, 0.0, 1.5;
  const Vector<double> one_more = gain.array() + 1.0;
  EXPECT_EQ(rms_norm(x, gain, NormKind::zero_centred, 1e-6),
            rms_norm(x, one_more, NormKind::plain, 1e-6));
}

TEST(rms_norm, epsilon_keeps_zeros_zero) {
  const Matrix<double> x = Matrix<double>::Zero(1, 3);
  const Vector<double> gain = Vector<double>::Ones(3);
  EXPECT_EQ(rms_norm(x, gain, NormKind::plain, 1e-6), x);
}

Rope rope_of(int64_t width) {
  Rope rope;
  rope.width = width;
  return rope;
}

TEST(rotary, rotates_half_split_pairs_by_position_times_frequency) {
  const Rope rope = rope_of(4);  // frequencies 1 and 1e4^(-1/2) = 0.01
  double head[] = {1.0, 2.0, 3.0, 4.0};
  Rotary(rope).rotate<double>(head, 5);
  const double angles[] = {5.0, 0.05};
  for (size_t i = 0; i < 2; ++i) {
    const double x = static_cast<double>(i) + 1.0;
    const double y = static_cast<double>(i) + 3.0;
    // Values up to 5, an angle up to 5 rounded once: 5 x 5 eps and three roundings more.
    EXPECT_NEAR(head[i], x * std::cos(angles[i]) - y * std::sin(angles[i]), 40 * epsilon);
    EXPECT_NEAR(head[i + 2], y * std::cos(angles[i]) + x * std::sin(angles[i]), 40 * epsilon);
  }
}

TEST(rotary, leaves_the_first_position_and_the_channels_behind_its_width) {
  double first[] = {1.0, 2.0, 3.0, 4.0};
  Rotary(rope_of(4)).rotate<double>(first, 0);
  EXPECT_EQ(first[0], 1.0);
  EXPECT_EQ(first[3], 4.0);
  double partial[] = {1.0, 2.0, 3.0, 4.0};
  Rotary(rope_of(2)).rotate<double>(partial, 9);
  EXPECT_NE(partial[0], 1.0);
  EXPECT_EQ(partial[2], 3.0);
  EXPECT_EQ(partial[3], 4.0);
}

TEST(rotary, yarns_attention_factor_multiplies) {
  Rope rope = rope_of(2);
  rope.attention_factor = 1.5;
  double head[] = {2.0, -4.0};
  Rotary(rope).rotate<double>(head, 0);
  EXPECT_EQ(head[0], 3.0);
  EXPECT_EQ(head[1], -6.0);
}

TEST(activations, neither_overflow_nor_lose_small_terms) {
  EXPECT_EQ(softplus(-800.0), 0.0);
  EXPECT_EQ(softplus(800.0), 800.0);
  EXPECT_EQ(softplus(-40.0), std::log1p(std::exp(-40.0)));
  EXPECT_EQ(log_sigmoid(800.0), 0.0);
  EXPECT_EQ(log_sigmoid(-800.0), -800.0);
  EXPECT_EQ(sigmoid(0.0), 0.5);
  EXPECT_EQ(sigmoid(-800.0), 0.0);
  EXPECT_EQ(silu(0.0), 0.0);
  EXPECT_EQ(silu(-800.0), 0.0);
}

TEST(attend, scores_of_any_size_stay_finite) {
  const double q[] = {1e4, 0.0};
  const double keys[] = {1.0, 0.0, -1.0, 0.0, 1.0, 0.0};
  const double values[] = {2.0, 0.0, 8.0, 0.0, 4.0, 0.0};
  double o[2];
  attend(q, keys, values, 2, 2, {0, 3}, o);
  EXPECT_EQ(o[0], 3.0);  // the first and last key tie, the second's weight underflows to 0
}

// Keys outside the range may hold anything, NaN included.
TEST(attend, never_touches_masked_keys) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const double q[] = {1.0};
  const double keys[] = {nan, 2.0, nan};
  const double values[] = {nan, 5.0, nan};
  double o[1];
  attend(q, keys, values, 1, 1, {1, 2}, o);
  EXPECT_EQ(o[0], 5.0);
}

TEST(retention, head_h_decays_by_1_minus_2_to_the_minus_5_minus_h) {
  // exp and log1p are each within an ulp, of a result near 1 and of a small one.
  EXPECT_NEAR(std::exp(retention_log_gate(0)), 1.0 - 1.0 / 32.0, 2 * epsilon);
  EXPECT_NEAR(std::exp(retention_log_gate(3)), 1.0 - 1.0 / 256.0, 2 * epsilon);
}

TEST(l2_normalise, has_its_epsilon_inside_the_root) {
  double x[] = {3e-3, 4e-3};
  l2_normalise(x, 2);
  const double exact = 3e-3 / std::sqrt(25e-6 + 1e-6);
  EXPECT_NEAR(x[0], exact, 6 * epsilon * exact);  // six roundings, as in rms_norm
}

}  // namespace
}  // namespace orthros
