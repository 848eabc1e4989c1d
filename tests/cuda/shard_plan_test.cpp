// Which rank holds and runs what, against what must hold of any plan.
#include "cuda/layout/shard_plan.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "cuda/layout/key_ranges.hpp"

namespace orthros::cuda {
namespace {

struct Drawn {
  int64_t tokens =
      *rc::gen::oneOf(rc::gen::inRange<int64_t>(1, 20000),
                      rc::gen::element<int64_t>(1, 511, 512, 513, 4572, 262144, 1048576))
           .as("tokens");
  int64_t ranks = *rc::gen::inRange<int64_t>(1, 9).as("ranks");
  int64_t reach = *rc::gen::element<int64_t>(0, 1, 127, 512, 4572, 100000).as("reach");
  bool balanced = *rc::gen::arbitrary<bool>().as("balanced");
};

RC_GTEST_PROP(shard_plan, shards_follow_each_other_and_cut_between_splits, ()) {
  const Drawn drawn;
  const auto plan = plan_ranks(drawn.tokens, drawn.ranks, drawn.reach, drawn.balanced);
  RC_ASSERT(static_cast<int64_t>(plan.size()) == drawn.ranks);
  int64_t next = 0;
  for (const RankShard& shard : plan) {
    RC_ASSERT(shard.begin == next);
    RC_ASSERT(shard.begin <= shard.end);
    RC_ASSERT(shard.end % 512 == 0 || shard.end == drawn.tokens);
    next = shard.end;
  }
  RC_ASSERT(next == drawn.tokens);
}

RC_GTEST_PROP(shard_plan, a_rank_runs_all_that_its_first_token_can_see, ()) {
  const Drawn drawn;
  for (const RankShard& shard :
       plan_ranks(drawn.tokens, drawn.ranks, drawn.reach, drawn.balanced)) {
    if (shard.empty()) continue;
    RC_ASSERT(shard.from <= std::max<int64_t>(0, shard.begin - drawn.reach));
    RC_ASSERT(shard.from >= std::max<int64_t>(0, shard.begin - drawn.reach) - 511);
    RC_ASSERT(shard.from % 512 == 0);
  }
}

RC_GTEST_PROP(shard_plan, balanced_shards_run_equally_many_tokens_within_three_splits, ()) {
  const Drawn drawn;
  RC_PRE(drawn.tokens > drawn.ranks * (drawn.reach + 1024));
  int64_t least = drawn.tokens;
  int64_t most = 0;
  for (const RankShard& shard : plan_ranks(drawn.tokens, drawn.ranks, drawn.reach, true)) {
    least = std::min(least, shard.end - shard.from);
    most = std::max(most, shard.end - shard.from);
  }
  // Both cuts of a shard are rounded up and where its left context begins is rounded down, each by
  // less than a split.
  RC_ASSERT(most - least <= 3 * 512);
}

RC_GTEST_PROP(shard_plan, memory_for_a_rank_suffices_for_balanced_shards_and_their_growth, ()) {
  const Drawn drawn;
  const int64_t context =
      drawn.tokens + *rc::gen::element<int64_t>(0, 1, 511, 2000, 9000).as("answer");
  SplitHolders holders(drawn.ranks);
  const auto plan = plan_ranks(drawn.tokens, drawn.ranks, drawn.reach, true);
  for (size_t r = 0; r < plan.size(); ++r) {
    while (!plan[r].empty() && holders.splits() < split_count(plan[r].end)) {
      holders.add(static_cast<int32_t>(r));
    }
  }
  while (holders.splits() < split_count(context)) holders.add(holders.roomiest());
  const int64_t room = most_held(context, drawn.ranks, drawn.reach);
  for (int32_t r = 0; r < drawn.ranks; ++r) RC_ASSERT(holders.held(r) * 512 <= room);
}

SplitHolders draw_holders(int64_t ranks) {
  SplitHolders holders(ranks);
  const auto count = *rc::gen::inRange<int64_t>(1, 60).as("splits");
  for (int64_t i = 0; i < count; ++i) {
    holders.add(static_cast<int32_t>(*rc::gen::inRange<int64_t>(0, ranks).as("holder")));
  }
  return holders;
}

RC_GTEST_PROP(shard_plan, every_split_stands_at_one_place_of_its_holder, ()) {
  const auto ranks = *rc::gen::inRange<int64_t>(1, 6).as("ranks");
  const SplitHolders holders = draw_holders(ranks);
  const auto places = split_places(holders);
  RC_ASSERT(static_cast<int64_t>(places.size()) == holders.splits());
  for (size_t s = 0; s < places.size(); ++s) {
    RC_ASSERT(places[s].rank == holders.holder(static_cast<int64_t>(s)));
    const auto held = holders.held_splits(places[s].rank);
    RC_ASSERT(held.at(static_cast<size_t>(places[s].index)) == static_cast<int32_t>(s));
  }
}

RC_GTEST_PROP(shard_plan, a_truncated_sequence_keeps_the_splits_of_its_tokens, ()) {
  const auto ranks = *rc::gen::inRange<int64_t>(1, 6).as("ranks");
  SplitHolders holders = draw_holders(ranks);
  const SplitHolders before = holders;
  const auto tokens = *rc::gen::inRange<int64_t>(0, before.splits() * 512).as("tokens");
  holders.truncate(tokens);
  RC_ASSERT(holders.splits() == split_count(tokens));
  int64_t held = 0;
  for (int32_t r = 0; r < ranks; ++r) held += holders.held(r);
  RC_ASSERT(held == holders.splits());
  for (int64_t s = 0; s < holders.splits(); ++s) RC_ASSERT(holders.holder(s) == before.holder(s));
}

TEST(shard_plan, the_next_split_goes_where_the_most_room_is_and_stays_where_it_is_equal) {
  SplitHolders holders(3);
  EXPECT_EQ(holders.roomiest(), 0);
  for (const int32_t rank : {0, 0, 1, 2}) holders.add(rank);
  EXPECT_EQ(holders.roomiest(), 2);  // as few as rank 1, and nothing has to move
  holders.add(2);
  EXPECT_EQ(holders.roomiest(), 1);
}

TEST(shard_plan, a_prompt_that_one_rank_would_run_anyway_stays_on_it) {
  const auto plan = plan_ranks(3000, 4, 4572, true);
  EXPECT_EQ(plan[0].end, 3000);
  EXPECT_TRUE(plan[1].empty() && plan[2].empty() && plan[3].empty());
}

RC_GTEST_PROP(shard_plan, every_head_is_merged_by_one_rank, ()) {
  const auto heads = *rc::gen::inRange<int64_t>(1, 65).as("heads");
  const auto ranks = *rc::gen::inRange<int64_t>(1, 9).as("ranks");
  int64_t next = 0;
  for (int64_t r = 0; r < ranks; ++r) {
    const HeadSlice slice = head_slice(heads, r, ranks);
    RC_ASSERT(slice.begin == next);
    RC_ASSERT(slice.count() <= (heads + ranks - 1) / ranks);
    next = slice.end;
  }
  RC_ASSERT(next == heads);
}

}  // namespace
}  // namespace orthros::cuda
