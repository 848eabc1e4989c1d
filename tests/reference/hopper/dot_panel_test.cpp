// The vector kernels against the plain chain, in every width, on values of every kind.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cfenv>
#include <vector>

#include "reference/hopper/dot_panel.hpp"
#include "reference/hopper/dot_step.hpp"
#include "reference/weights/counter_random.hpp"

namespace orthros::hopper {
namespace {

// bf16 values with biased exponents in [low, high]; of `special` values in 100 some are zeros,
// subnormals, infinities, NaN.
struct Kind {
  uint32_t low, high;
  uint32_t special;   // chance in 100 of a zero or subnormal
  uint32_t infinite;  // chance in 100 of an infinity or NaN
  bool positive;
};
const Kind kinds[] = {
    {115, 130, 0, 0, false},   // usual
    {115, 130, 40, 0, false},  // many zeros: whole steps of them where rows are short
    {127, 127, 0, 0, true},    // sums that reach 2^31 units
    {60, 80, 5, 0, false},     // products at the kernels' least exponent
    {70, 78, 90, 0, false},   {146, 154, 2, 0, false},  // row exponents at their limit
    {185, 192, 0, 0, false},                            // results at the largest float
    {0, 254, 5, 0, false},                              // anything finite
    {0, 3, 20, 0, false},     {110, 130, 5, 1, false},  // infinities and NaN
};

class Values {
 public:
  Values(uint64_t seed, const char* name) : random_(seed, name) {}

  std::vector<uint16_t> draw(const Kind& kind, int64_t count) {
    std::vector<uint16_t> values(static_cast<size_t>(count));
    for (uint16_t& value : values) {
      const uint32_t bits = next();
      const uint32_t field = kind.low + next() % (kind.high - kind.low + 1);
      const uint32_t sign = kind.positive ? 0 : bits & 0x8000u;
      // Significands near 2 where only the largest sums are of interest.
      const uint32_t fraction = kind.positive ? 0x70u | (bits & 0xfu) : bits & 0x7fu;
      value = static_cast<uint16_t>(sign | field << 7 | fraction);
      if (next() % 100 < kind.special) {
        value = static_cast<uint16_t>(sign | (next() % 4 == 0 ? fraction : 0u));
      }
      if (next() % 100 < kind.infinite) {
        value = static_cast<uint16_t>(sign | 0x7f80u | (next() % 3 == 0 ? fraction : 0u));
      }
    }
    return values;
  }

 private:
  uint32_t next() { return static_cast<uint32_t>(random_.bits(index_++) >> 32); }
  CounterRandom random_;
  uint64_t index_ = 0;
};

// Restores the machine's own width.
struct AllWidths {
  ~AllWidths() { limit_panel_vectors(16); }
};

void expect_equal_to_the_chain(int64_t width, const Kind& of_rows, const Kind& of_weights,
                               uint64_t seed, int64_t rows, int64_t length, int64_t from,
                               int64_t outputs) {
  limit_panel_vectors(width);
  const int64_t stride = length + 3;
  const auto x = Values(seed, "rows").draw(of_rows, rows * stride);
  const auto w = Values(seed, "weights").draw(of_weights, outputs * (from + length));
  Panel panel(from + length);
  for (int64_t o = 0; o < outputs; ++o)
    panel.set_output(o, &w[static_cast<size_t>(o * (from + length))]);
  const PanelRows ready(x.data(), rows, length, stride);
  std::vector<float> y(static_cast<size_t>(rows * outputs));
  ready.multiply(panel, from, outputs, y.data(), outputs);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t o = 0; o < outputs; ++o) {
      const float expected =
          dot_chain(&x[static_cast<size_t>(r * stride)], 1,
                    &w[static_cast<size_t>(o * (from + length) + from)], 1, length);
      RC_ASSERT(bits_of(y[static_cast<size_t>(r * outputs + o)]) == bits_of(expected));
    }
  }
}

RC_GTEST_PROP(dot_panel, equals_the_chain_in_every_width, ()) {
  const AllWidths restored;
  const auto width = *rc::gen::element<int64_t>(4, 8, 16).as("width");
  const auto of_rows = *rc::gen::inRange<size_t>(0, std::size(kinds)).as("kind of rows");
  const auto of_weights = *rc::gen::inRange<size_t>(0, std::size(kinds)).as("kind of weights");
  const auto seed = *rc::gen::arbitrary<uint64_t>().as("seed");
  const auto rows = *rc::gen::inRange<int64_t>(1, 10).as("rows");
  const auto length = *rc::gen::resize(100, rc::gen::inRange<int64_t>(1, 150)).as("length");
  const auto from = *rc::gen::inRange<int64_t>(0, 20).as("from");
  const auto outputs = *rc::gen::inRange<int64_t>(1, panel_lanes + 1).as("outputs");
  for (uint64_t i = 0; i < 20; ++i) {
    expect_equal_to_the_chain(width, kinds[of_rows], kinds[of_weights], seed + i, rows, length,
                              from, outputs);
  }
}

RC_GTEST_PROP(dot_panel, equals_the_chain_where_rows_and_weights_are_of_one_kind, ()) {
  const AllWidths restored;
  const auto width = *rc::gen::element<int64_t>(4, 8, 16).as("width");
  const auto kind = *rc::gen::inRange<size_t>(0, std::size(kinds)).as("kind");
  const auto seed = *rc::gen::arbitrary<uint64_t>().as("seed");
  for (uint64_t i = 0; i < 20; ++i) {
    expect_equal_to_the_chain(width, kinds[kind], kinds[kind], seed + i, 5, 64, 0, panel_lanes);
  }
}

TEST(dot_panel, leaves_the_rounding_mode_as_it_was) {
  const std::vector<uint16_t> ones(16, 0x3f80);
  Panel panel(16);
  panel.set_output(0, ones.data());
  float y = 0.0f;
  PanelRows(ones.data(), 1, 16, 16).multiply(panel, 0, 1, &y, 1);
  EXPECT_EQ(y, 16.0f);
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

TEST(dot_panel, a_value_set_by_place_is_the_output_set_whole) {
  const auto w = Values(3, "by place").draw(kinds[7], 40 * 5);
  Panel whole(40);
  Panel placed(40);
  for (int64_t o = 0; o < 5; ++o) whole.set_output(o, &w[static_cast<size_t>(o)], 5);
  for (int64_t k = 0; k < 40; ++k) placed.set_value(k, &w[static_cast<size_t>(k * 5)], 5);
  EXPECT_TRUE(std::equal(whole.values(), whole.values() + 40 * panel_lanes, placed.values()));
}

}  // namespace
}  // namespace orthros::hopper
