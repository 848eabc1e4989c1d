// Rounds of a prompt's chunks, against what must hold of any.
#include "cuda/layout/rounds.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orthros::cuda {
namespace {

RC_GTEST_PROP(rounds, every_token_is_run_once_in_order_and_in_chunks, ()) {
  const auto past = *rc::gen::inRange<int64_t>(0, 3000).as("past");
  const auto tokens = *rc::gen::inRange<int64_t>(0, 9000).as("tokens");
  const auto ranks = *rc::gen::inRange<int64_t>(1, 9).as("ranks");
  const auto chunk = *rc::gen::inRange<int64_t>(1, 2000).as("chunk");
  int64_t next = past;
  const Rounds rounds = plan_rounds(past, past + tokens, ranks, chunk);
  for (const auto& round : rounds) {
    RC_ASSERT(static_cast<int64_t>(round.size()) == ranks);
    RC_ASSERT(round.front().begin < round.front().end);  // no round runs nothing
    for (const KeyRange& range : round) {
      RC_ASSERT(range.begin == next);
      RC_ASSERT(range.end - range.begin <= chunk);
      next = range.end;
    }
  }
  RC_ASSERT(next == past + tokens);
}

RC_GTEST_PROP(rounds, a_position_is_predicted_by_the_rank_that_runs_its_token, ()) {
  const auto past = *rc::gen::inRange<int64_t>(0, 3000).as("past");
  const auto tokens = *rc::gen::inRange<int64_t>(1, 9000).as("tokens");
  const auto ranks = *rc::gen::inRange<int64_t>(1, 9).as("ranks");
  const auto position = *rc::gen::inRange<int64_t>(0, 13'000).as("position, from 1");
  const Rounds rounds = plan_rounds(past, past + tokens, ranks, 700);
  const int32_t rank = rank_of(position, rounds);
  if (position <= past || position > past + tokens) {
    RC_ASSERT(rank == -1);
    return;
  }
  bool runs = false;
  for (const auto& round : rounds) {
    const KeyRange& range = round.at(static_cast<size_t>(rank));
    for (int64_t token = range.begin; token < range.end; ++token) runs |= token + 1 == position;
  }
  RC_ASSERT(runs);
}

TEST(rounds, the_last_round_is_shared_out_in_whole_splits) {
  const auto rounds = plan_rounds(0, 16384 + 2000, 2, 8192);
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_EQ(rounds[0][1].end, 16384);
  EXPECT_EQ(rounds[1][0].end - rounds[1][0].begin, 1024);
  EXPECT_EQ(rounds[1][1].end - rounds[1][1].begin, 976);
}

}  // namespace
}  // namespace orthros::cuda
