// Which rank of several holds which split of a sequence, and what each runs of a prompt: plain
// arithmetic that every rank works out for itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace orthros::cuda {

// Tokens [begin, end) of a prompt are a rank's; it runs them from `from` on, the left context of
// its first ones again, since a base row's state reaches back no further than its windows do.
struct RankShard {
  int64_t from = 0;
  int64_t begin = 0;
  int64_t end = 0;

  bool empty() const { return begin == end; }
};

// A shard for each rank, in order, cut at multiples of the output attention's split. `reach`: how
// far back a base row's state reaches, the sum of w - 1 over the layers.
// Balanced: the first rank has no left context to run again and gets so many tokens more, so that
// all run as many as whole splits allow; prompts not longer than `reach` stay on the first rank,
// which would run all of them anyway. Otherwise as many splits each, whatever that costs.
std::vector<RankShard> plan_ranks(int64_t tokens, int64_t ranks, int64_t reach, bool balanced);

// Tokens of a sequence for whose entries a rank needs memory at most, where sequences of up to
// `context` tokens begin as balanced shards and grow split by split where the most room is.
int64_t most_held(int64_t context, int64_t ranks, int64_t reach);

// Who holds each split of one sequence.
class SplitHolders {
 public:
  explicit SplitHolders(int64_t ranks) : held_(static_cast<std::size_t>(ranks), 0) {}

  int64_t splits() const { return static_cast<int64_t>(holders_.size()); }
  int32_t holder(int64_t split) const { return holders_[static_cast<std::size_t>(split)]; }
  int32_t last() const { return holders_.back(); }
  int64_t held(int32_t rank) const { return held_[static_cast<std::size_t>(rank)]; }

  void add(int32_t rank);
  // Splits that hold the first `tokens`, and no others.
  void truncate(int64_t tokens);
  // The rank with the fewest splits; among equals the last split's, so that nothing moves for
  // nothing, then the lowest.
  int32_t roomiest() const;
  // A rank's splits, ascending: its i-th is held_splits(rank)[i].
  std::vector<int32_t> held_splits(int32_t rank) const;

 private:
  std::vector<int32_t> holders_;  // by split
  std::vector<int64_t> held_;     // by rank
};

// Where a split's partial softmax stands among those that a rank has gathered.
struct SplitPlace {
  int32_t rank;
  int32_t index;  // among that rank's splits of the sequence
};
std::vector<SplitPlace> split_places(const SplitHolders& holders);

// Query heads [begin, end) whose partial softmaxes a rank merges.
struct HeadSlice {
  int64_t begin;
  int64_t end;

  int64_t count() const { return end - begin; }
};
constexpr HeadSlice head_slice(int64_t heads, int64_t rank, int64_t ranks) {
  return {heads * rank / ranks, heads * (rank + 1) / ranks};
}

}  // namespace orthros::cuda
