// Hopper's attention from panels against the plain definition, and that against exact arithmetic.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "reference/hopper/attention_row.hpp"
#include "reference/hopper/hopper.hpp"
#include "reference/weights/counter_random.hpp"

namespace orthros {
namespace {

std::vector<Hopper> random_values(uint64_t seed, const char* name, int64_t count, double scale) {
  const CounterRandom random(seed, name);
  std::vector<Hopper> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = Hopper(scale * random.normal(static_cast<uint64_t>(i)));
  }
  return values;
}

// One KV head among others: its entries, and queries that share it.
struct Case {
  int64_t width, heads, entries;
  int64_t stride;
  std::vector<Hopper> q, keys, values;
  KeyRange range;

  HeadEntries<Hopper> head() const { return {keys.data(), values.data(), stride, width}; }
};

Case make_case(uint64_t seed, int64_t width, int64_t heads, KeyRange range, int64_t entries) {
  Case made{width, heads, entries, width + 3, {}, {}, {}, range};
  made.q = random_values(seed, "q", heads * width, 2.0);
  made.keys = random_values(seed, "keys", entries * made.stride, 1.5);
  made.values = random_values(seed, "values", entries * made.stride, 1.0);
  return made;
}

std::vector<uint16_t> from_panels(const Case& c, KeyRange read) {
  std::vector<Hopper> o(static_cast<size_t>(c.heads * c.width), Hopper(0.0f));
  HopperEntries(c.head(), read).attend(c.q.data(), c.heads, c.range, o.data());
  return {bits_of(o.data()), bits_of(o.data()) + o.size()};
}

std::vector<uint16_t> by_definition(const Case& c) {
  std::vector<uint16_t> o(static_cast<size_t>(c.heads * c.width));
  std::vector<float> scratch(static_cast<size_t>(2 * c.width));
  const int64_t at = c.range.first * c.stride;
  const hopper::VisibleKeys seen{
      bits_of(c.keys.data() + at),   bits_of(c.values.data() + at), c.stride, c.width,
      c.range.begin - c.range.first, c.range.end - c.range.first};
  for (int64_t h = 0; h < c.heads; ++h) {
    (c.range.windowed ? hopper::attend_base : hopper::attend_output)(
        bits_of(c.q.data() + h * c.width), seen, hopper::score_scale(c.width), scratch.data(),
        &o[static_cast<size_t>(h * c.width)]);
  }
  return o;
}

RC_GTEST_PROP(hopper_attention, equals_its_definition, ()) {
  const auto seed = *rc::gen::arbitrary<uint64_t>().as("seed");
  const auto width = *rc::gen::element<int64_t>(2, 8, 16, 40, 64).as("width");
  const auto heads = *rc::gen::inRange<int64_t>(1, 6).as("heads");
  const auto first = *rc::gen::element<int64_t>(0, 1, 5, 16, 37).as("first of the document");
  const auto position = *rc::gen::element<int64_t>(0, 1, 7, 15, 16, 17, 127, 128, 510, 511, 512,
                                                   513, 1023, 1024, 1025)
                             .as("position");
  const auto window = *rc::gen::element<int64_t>(0, 1, 2, 15, 16, 17, 127, 128, 129, 600, 4096)
                           .as("window, 0: none");
  KeyRange range{first, first + position + 1, first, window > 0};
  if (window > 0) range.begin = std::max(first, range.end - window);
  const auto earlier = *rc::gen::inRange<int64_t>(0, 20).as("entries read before it");
  const auto later = *rc::gen::inRange<int64_t>(0, 20).as("entries read behind it");
  const Case c = make_case(seed, width, heads, range, range.end + later);
  const KeyRange read{std::max<int64_t>(0, range.begin - earlier), range.end + later};
  RC_ASSERT(from_panels(c, read) == by_definition(c));
}

// Weights and outputs are rounded to bf16 (2^-9 each, of convex combinations of values), the rest
// is float: |o - exact| <= 2^-8 max |v|, and a tenth for it.
RC_GTEST_PROP(hopper_attention, is_near_exact_softmax, ()) {
  const auto seed = *rc::gen::arbitrary<uint64_t>().as("seed");
  const auto end = *rc::gen::inRange<int64_t>(1, 700).as("keys");
  const bool windowed = *rc::gen::arbitrary<bool>().as("windowed");
  const Case c = make_case(seed, 8, 1, {0, end, 0, windowed}, end);
  std::vector<double> weights;
  double most = -std::numeric_limits<double>::infinity();
  for (int64_t j = 0; j < end; ++j) {
    double score = 0.0;
    for (int64_t i = 0; i < 8; ++i) {
      score += static_cast<double>(c.q[static_cast<size_t>(i)]) *
               static_cast<double>(c.keys[static_cast<size_t>(j * c.stride + i)]);
    }
    weights.push_back(score / std::sqrt(8.0));
    most = std::max(most, weights.back());
  }
  const auto got = from_panels(c, {0, end});
  for (int64_t i = 0; i < 8; ++i) {
    double sum = 0.0;
    double o = 0.0;
    double largest = 0.0;
    for (int64_t j = 0; j < end; ++j) {
      const double p = std::exp(weights[static_cast<size_t>(j)] - most);
      const auto v = static_cast<double>(c.values[static_cast<size_t>(j * c.stride + i)]);
      sum += p;
      o += p * v;
      largest = std::max(largest, std::abs(v));
    }
    const auto computed = static_cast<double>(hopper::widen_bf16(got[static_cast<size_t>(i)]));
    RC_ASSERT(std::abs(computed - o / sum) <= 1.1 * 0x1p-8 * largest);
  }
}

// What is not visible counts for nothing even where it shares a block and cannot be multiplied.
TEST(hopper_attention, nan_in_keys_and_values_outside_the_range_is_never_seen) {
  Case c = make_case(7, 16, 2, {20, 41, 0, true}, 60);
  const auto expected = from_panels(c, {0, 60});
  for (int64_t j = 0; j < 60; ++j) {
    if (j >= 20 && j < 41) continue;
    for (int64_t i = 0; i < 16; ++i) {
      c.keys[static_cast<size_t>(j * c.stride + i)] = Hopper(std::nanf(""));
      c.values[static_cast<size_t>(j * c.stride + i)] = Hopper(std::nanf(""));
    }
  }
  EXPECT_EQ(from_panels(c, {0, 60}), expected);
  EXPECT_EQ(by_definition(c), expected);
}

TEST(hopper_attention, nan_in_a_visible_key_or_value_comes_through) {
  for (const bool in_keys : {false, true}) {
    Case c = make_case(8, 16, 1, {0, 30, 0, true}, 30);
    (in_keys ? c.keys : c.values)[static_cast<size_t>(12 * c.stride)] = Hopper(std::nanf(""));
    const auto o = from_panels(c, {0, 30});
    EXPECT_EQ(o[0], 0x7fff);
    EXPECT_EQ(o, by_definition(c));
  }
}

TEST(hopper_attention, no_keys_give_zero) {
  const Case c = make_case(9, 8, 1, {5, 5, 0, false}, 10);
  EXPECT_EQ(from_panels(c, {0, 10}), std::vector<uint16_t>(8, 0));
}

}  // namespace
}  // namespace orthros
