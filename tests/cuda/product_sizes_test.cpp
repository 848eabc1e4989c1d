// Sizes at which products are compared: near every number of rows, right behind whole prompts.
#include "cuda/layout/product_sizes.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orthros::cuda {
namespace {

constexpr int64_t over = 32;

int64_t size_for(const std::vector<int64_t>& sizes, int64_t rows) {
  return *std::lower_bound(sizes.begin(), sizes.end(), rows);
}

RC_GTEST_PROP(product_sizes, every_number_of_rows_has_a_size_near_it, ()) {
  const auto most = *rc::gen::inRange<int64_t>(over + 1, 20000).as("most");
  const std::vector<int64_t> sizes = product_sizes(over, most);
  RC_ASSERT(sizes.back() == most);
  RC_ASSERT(sizes.front() > over);
  RC_ASSERT(std::adjacent_find(sizes.begin(), sizes.end(), std::greater_equal<>()) == sizes.end());
  const auto rows = *rc::gen::inRange<int64_t>(over + 1, most + 1).as("rows");
  const int64_t size = size_for(sizes, rows);
  RC_ASSERT(2 * size < 3 * rows);
}

RC_GTEST_PROP(product_sizes, copies_behind_a_whole_prompt_have_a_size_of_their_own, ()) {
  const auto octave = int64_t{1} << *rc::gen::inRange(8, 14).as("log2");
  const int64_t prompt = *rc::gen::element(octave, octave + octave / 2).as("prompt");
  const auto copies = *rc::gen::inRange<int64_t>(1, copies_behind + 1).as("copies");
  const auto room = *rc::gen::inRange<int64_t>(0, 20000).as("room");
  const std::vector<int64_t> sizes = product_sizes(over, prompt + copies + room);
  RC_ASSERT(size_for(sizes, prompt) == prompt);
  RC_ASSERT(size_for(sizes, prompt + copies) <= prompt + copies_behind);
}

TEST(product_sizes, products_that_always_go_one_way_have_none) {
  EXPECT_TRUE(product_sizes(over, over).empty());
  EXPECT_TRUE(product_sizes(over, 1).empty());
}

}  // namespace
}  // namespace orthros::cuda
