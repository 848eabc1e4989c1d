// How a prompt's chunks go round the ranks: rank r runs chunk r, then chunk r + ranks, and so on,
// so that with a causal mask all have about as many keys to read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cuda/layout/key_ranges.hpp"

namespace orthros::cuda {

// By round, then rank: positions that it runs.
using Rounds = std::vector<std::vector<KeyRange>>;

// Rounds of a prompt's tokens [past, end): in each, every rank's positions, in order, of at most
// `chunk` each; the last round is shared out equally, in whole splits where there are as many.
inline Rounds plan_rounds(int64_t past, int64_t end, int64_t ranks, int64_t chunk) {
  Rounds rounds;
  while (past < end) {
    const int64_t left = end - past;
    int64_t each = std::min(chunk, (left + ranks - 1) / ranks);
    if (each < chunk && each > hopper::split_keys) {
      each = std::min(chunk, split_count(each) * hopper::split_keys);
    }
    auto& round = rounds.emplace_back();
    for (int64_t r = 0; r < ranks; ++r) {
      const int64_t next = std::min(past + each, end);
      round.push_back({past, next});
      past = next;
    }
  }
  return rounds;
}

// The rank whose tokens [begin, end) position, from 1, is one of; -1: none's.
template <class Range>
int32_t rank_of(int64_t position, const std::vector<Range>& by_rank) {
  for (size_t r = 0; r < by_rank.size(); ++r) {
    if (position > by_rank[r].begin && position <= by_rank[r].end) return static_cast<int32_t>(r);
  }
  return -1;
}
inline int32_t rank_of(int64_t position, const Rounds& rounds) {
  int32_t rank = -1;
  for (size_t i = 0; i < rounds.size() && rank < 0; ++i) rank = rank_of(position, rounds[i]);
  return rank;
}

}  // namespace orthros::cuda
