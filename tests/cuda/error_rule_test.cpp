// Tests of the rule for errors against double.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "cuda/check/error_rule.hpp"
#include "reference/weights/bfloat16.hpp"
#include "reference/weights/counter_random.hpp"

namespace orthros::cuda {
namespace {

using Values = std::vector<double>;

Values random_values(const char* name, double scale) {
  const CounterRandom random(3, name);
  Values values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = scale * random.normal(i);
  return values;
}

Values sum(const Values& a, const Values& b) {
  Values result = a;
  for (size_t i = 0; i < a.size(); ++i) result[i] += b[i];
  return result;
}

bool accepted(const Values& engine, const Values& bf16, const Values& exact) {
  return within(error_of(engine, exact), error_limit(error_of(bf16, exact), exact));
}

TEST(error_rule, measures_the_largest_and_the_mean) {
  const Error error = error_of(Values{1.0, 2.5, 3.0}, Values{1.0, 2.0, 4.0});
  EXPECT_EQ(error.most, 1.0);
  EXPECT_EQ(error.mean, 0.5);
  EXPECT_TRUE(error.finite);
}

TEST(error_rule, limits_are_twice_the_references_own_and_a_rounding) {
  const Values exact = {1.0, -4.0, 1.0};
  const ErrorLimit limit = error_limit({0.25, 0.125, true}, exact);
  EXPECT_EQ(limit.most, 0.5 + 4.0 / 256.0);
  EXPECT_EQ(limit.mean, 0.25 + 2.0 / 512.0);
}

TEST(error_rule, an_error_like_the_references_own_is_accepted) {
  const Values exact = random_values("exact", 2.0);
  EXPECT_TRUE(
      accepted(sum(exact, random_values("a", 0.02)), sum(exact, random_values("b", 0.02)), exact));
}

TEST(error_rule, three_times_the_references_own_is_refused) {
  const Values exact = random_values("exact", 2.0);
  EXPECT_FALSE(
      accepted(sum(exact, random_values("a", 0.3)), sum(exact, random_values("b", 0.1)), exact));
}

// One value far off shows in max, many a little off in mean.
TEST(error_rule, max_and_mean_are_refused_each_on_its_own) {
  const Values exact = random_values("exact", 2.0);
  const Values bf16 = sum(exact, random_values("b", 0.1));
  Values one = bf16;
  one[17] += 3.0;
  EXPECT_FALSE(accepted(one, bf16, exact));
  Values many = exact;
  for (double& value : many) value += 0.25;  // within twice the largest, not twice the mean
  EXPECT_FALSE(accepted(many, bf16, exact));
}

// Where the bf16 reference happens to be right, one rounding to bf16 must still pass, two of the
// largest size must not.
TEST(error_rule, one_rounding_is_accepted_where_the_reference_makes_no_error) {
  const Values exact = random_values("exact", 2.0);
  Values rounded = exact;
  for (double& value : rounded) value = static_cast<double>(bfloat16(value));
  EXPECT_TRUE(accepted(rounded, exact, exact));
  Values far = exact;
  for (double& value : far) value *= 1.0 + 0x1p-7;
  EXPECT_FALSE(accepted(far, exact, exact));
}

TEST(error_rule, nan_infinity_and_unlike_sizes_are_refused) {
  const Values exact = {1.0, 2.0};
  EXPECT_FALSE(accepted({1.0, std::nan("")}, exact, exact));
  EXPECT_FALSE(accepted({1.0, INFINITY}, exact, exact));
  EXPECT_FALSE(accepted({1.0}, exact, exact));
  EXPECT_TRUE(accepted(exact, exact, exact));
}

TEST(certain_largest, is_told_only_where_the_margin_allows) {
  const Values rows = {1.0, 3.0, 2.0, /**/ 5.0, 1.0, 4.95, /**/ -3.0, -1.0, -2.0};
  EXPECT_EQ(certain_largest(rows, 3, 0.5), (std::vector<int64_t>{1, -1, 1}));
  EXPECT_EQ(certain_largest(rows, 3, 1.0), (std::vector<int64_t>{-1, -1, -1}));
  EXPECT_EQ(certain_largest(Values{4.0, 7.0}, 1, 10.0), (std::vector<int64_t>{0, 0}));
}

}  // namespace
}  // namespace orthros::cuda
