// The step of a dot product against what H200 tensor cores gave.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "reference/hopper/dot_step.hpp"

namespace orthros::hopper {
namespace {

// n tiles of A (16 x 16 bf16), B (8 columns x 16 bf16), C and D (16 x 8 fp32).
struct Vectors {
  int64_t tiles = 0;
  std::vector<uint16_t> a, b;
  std::vector<uint32_t> c, d;
};

Vectors read_vectors(const std::string& name) {
  std::ifstream file(std::string(ORTHROS_TEST_DATA) + "/goldens/" + name, std::ios::binary);
  const auto read = [&](auto& values, int64_t count) {
    values.resize(static_cast<size_t>(count));
    file.read(reinterpret_cast<char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof values[0]));
  };
  std::vector<int32_t> count;
  read(count, 1);
  Vectors vectors;
  vectors.tiles = count[0];
  read(vectors.a, vectors.tiles * 256);
  read(vectors.b, vectors.tiles * 128);
  read(vectors.c, vectors.tiles * 128);
  read(vectors.d, vectors.tiles * 128);
  EXPECT_TRUE(file && file.peek() == std::ifstream::traits_type::eof()) << name;
  return vectors;
}

// Calls result(c, d, computed) for each of the file's results.
template <class Result>
void each_result(const Vectors& vectors, const Result& result) {
  for (int64_t i = 0; i < vectors.tiles * 128; ++i) {
    const int64_t tile = i / 128;
    const int64_t row = i % 128 / 8;
    const int64_t column = i % 8;
    const uint32_t c = vectors.c[static_cast<size_t>(i)];
    const float computed =
        dot_step(from_bits(c), &vectors.a[static_cast<size_t>(tile * 256 + row * 16)],
                 &vectors.b[static_cast<size_t>(tile * 128 + column * 16)], 16);
    result(c, vectors.d[static_cast<size_t>(i)], bits_of(computed));
  }
}

void expect_all_equal(const std::string& name, int64_t results) {
  int64_t equal = 0;
  each_result(read_vectors(name),
              [&](uint32_t, uint32_t d, uint32_t computed) { equal += d == computed ? 1 : 0; });
  EXPECT_EQ(equal, results) << name;
}

TEST(dot_step, equals_the_tensor_core_on_random_values) {
  expect_all_equal("hopper_mma_bf16.bin", 153600);
}

TEST(dot_step, equals_the_tensor_core_on_special_values) {
  expect_all_equal("hopper_mma_special.bin", 51200);
}

// The special vectors would show a wrong rule only if they reach it.
TEST(dot_step, the_special_vectors_reach_every_kind_of_result) {
  int64_t nan = 0, positive_infinity = 0, negative_infinity = 0, zero = 0, subnormal = 0;
  int64_t from_minus_zero = 0, from_subnormal = 0, overflow = 0;
  each_result(read_vectors("hopper_mma_special.bin"), [&](uint32_t c, uint32_t d, uint32_t) {
    const uint32_t magnitude = d & 0x7fffffffu;
    const bool c_finite = (c & 0x7f800000u) != 0x7f800000u;
    nan += d == canonical_nan ? 1 : 0;
    positive_infinity += d == 0x7f800000u ? 1 : 0;
    negative_infinity += d == 0xff800000u ? 1 : 0;
    zero += d == 0 ? 1 : 0;
    EXPECT_NE(d, 0x80000000u) << "no result is -0";
    EXPECT_TRUE(magnitude <= 0x7f800000u || d == canonical_nan) << "one NaN only";
    subnormal += magnitude != 0 && magnitude < 0x00800000u ? 1 : 0;
    from_minus_zero += c == 0x80000000u && d == 0 ? 1 : 0;
    from_subnormal += (c & 0x7f800000u) == 0 && c << 1 != 0 && c_finite && d == c ? 1 : 0;
    overflow += c_finite && magnitude == 0x7f800000u ? 1 : 0;
  });
  EXPECT_GE(nan, 1000);
  EXPECT_GE(positive_infinity, 1000);
  EXPECT_GE(negative_infinity, 1000);
  EXPECT_GE(zero, 1000);
  EXPECT_GE(subnormal, 1000);
  EXPECT_GE(from_minus_zero, 30);
  EXPECT_GE(from_subnormal, 30);
  EXPECT_GE(overflow, 1000);
}

}  // namespace
}  // namespace orthros::hopper
