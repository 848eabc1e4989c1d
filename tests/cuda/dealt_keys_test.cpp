// Splits dealt round the ranks: every position has one place, and places leave no gaps.
#include "cuda/layout/dealt_keys.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orthros::cuda {
namespace {

RC_GTEST_PROP(dealt_keys, every_position_stands_at_one_place_of_one_rank, ()) {
  const auto ranks = *rc::gen::inRange<int64_t>(1, 9).as("ranks");
  const auto position = *rc::gen::inRange<int64_t>(0, int64_t{1} << 40).as("position");
  const Deal holder{split_of(position) % ranks, ranks};
  RC_ASSERT(dealt_position(dealt_place(position, ranks), holder) == position);
}

RC_GTEST_PROP(dealt_keys, a_ranks_places_follow_each_other_as_its_positions_do, ()) {
  const auto ranks = *rc::gen::inRange<int64_t>(1, 9).as("ranks");
  const auto tokens = *rc::gen::inRange<int64_t>(0, 12000).as("tokens");
  std::vector<int64_t> next(static_cast<size_t>(ranks), 0);
  for (int64_t t = 0; t < tokens; ++t) {
    RC_ASSERT(dealt_place(t, ranks) == next[static_cast<size_t>(split_of(t) % ranks)]++);
  }
  for (int64_t r = 0; r < ranks; ++r) {
    const Deal deal{r, ranks};
    RC_ASSERT(dealt_count(tokens, deal) == next[static_cast<size_t>(r)]);
    RC_ASSERT(dealt_count(tokens, deal) <= most_dealt(tokens, ranks));
  }
}

TEST(dealt_keys, one_rank_has_every_position_at_its_own_place) {
  for (const int64_t t : {int64_t{0}, int64_t{511}, int64_t{512}, int64_t{1} << 33}) {
    EXPECT_EQ(dealt_place(t, 1), t);
    EXPECT_EQ(dealt_count(t, {}), t);
  }
}

}  // namespace
}  // namespace orthros::cuda
