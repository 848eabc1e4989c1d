// Plans shards.
#include "cuda/layout/shard_plan.hpp"

#include <algorithm>

#include "cuda/layout/key_ranges.hpp"

namespace orthros::cuda {
namespace {

constexpr int64_t align = hopper::split_keys;

}  // namespace

std::vector<RankShard> plan_ranks(int64_t tokens, int64_t ranks, int64_t reach, bool balanced) {
  const int64_t splits = split_count(tokens);
  // Every rank's run in tokens, if all are equal: ranks x run = tokens + (ranks - 1) x reach.
  const int64_t run = (tokens + (ranks - 1) * reach) / ranks;
  std::vector<RankShard> plan;
  int64_t begin = 0;
  for (int64_t r = 0; r < ranks; ++r) {
    int64_t cut = (r + 1) * splits / ranks;
    if (balanced) cut = std::min(splits, split_count(std::max(run + r * (run - reach), run)));
    if (r + 1 == ranks) cut = splits;
    const int64_t end = std::min(cut * align, tokens);
    plan.push_back({std::max<int64_t>(0, begin - reach) / align * align, begin, end});
    begin = end;
  }
  return plan;
}

int64_t most_held(int64_t context, int64_t ranks, int64_t reach) {
  const int64_t shard = (context + (ranks - 1) * reach) / ranks;
  return std::min(split_count(context), split_count(shard) + 1) * align;
}

void SplitHolders::add(int32_t rank) {
  holders_.push_back(rank);
  ++held_[static_cast<size_t>(rank)];
}

void SplitHolders::truncate(int64_t tokens) {
  while (splits() > split_count(tokens)) {
    --held_[static_cast<size_t>(holders_.back())];
    holders_.pop_back();
  }
}

int32_t SplitHolders::roomiest() const {
  int32_t best = holders_.empty() ? 0 : holders_.back();
  for (int32_t r = 0; r < static_cast<int32_t>(held_.size()); ++r) {
    if (held(r) < held(best)) best = r;
  }
  return best;
}

std::vector<int32_t> SplitHolders::held_splits(int32_t rank) const {
  std::vector<int32_t> result;
  for (int64_t s = 0; s < splits(); ++s) {
    if (holder(s) == rank) result.push_back(static_cast<int32_t>(s));
  }
  return result;
}

std::vector<SplitPlace> split_places(const SplitHolders& holders) {
  std::vector<SplitPlace> places;
  std::vector<int32_t> next;
  for (int64_t s = 0; s < holders.splits(); ++s) {
    const int32_t rank = holders.holder(s);
    if (static_cast<size_t>(rank) >= next.size()) next.resize(static_cast<size_t>(rank) + 1, 0);
    places.push_back({rank, next[static_cast<size_t>(rank)]++});
  }
  return places;
}

}  // namespace orthros::cuda
