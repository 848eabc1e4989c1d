// ShardedEngine's sequences: lengths, entries, random caches.
#include <algorithm>

#include "cuda/engine/kv_store.hpp"
#include "cuda/group/sharded_rank.hpp"
#include "cuda/layout/key_ranges.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {

int64_t ShardedEngine::length(int64_t sequence) const {
  return rank(group_.first_here()).engine.length(sequence);
}

void ShardedEngine::truncate(int64_t sequence, int64_t length) {
  for (const int32_t r : group_.here()) rank(r).engine.truncate(sequence, length);
  holders_[static_cast<size_t>(sequence)].truncate(length);
}

void ShardedEngine::reset() {
  for (const int32_t r : group_.here()) rank(r).engine.reset();
  for (SplitHolders& holders : holders_) holders.truncate(0);
}

// Entries from whoever holds them, position by position.
std::vector<bf16_bits> ShardedEngine::collect(int64_t layer, int64_t sequence, bool keys) const {
  const SplitHolders& holders = holders_[static_cast<size_t>(sequence)];
  const int64_t end = length(sequence);
  std::vector<bf16_bits> all;
  for (int64_t s = 0; s < holders.splits();) {
    int64_t stop = s;
    while (stop < holders.splits() && holders.holder(stop) == holders.holder(s)) ++stop;
    const KeyRange range{s * hopper::split_keys, std::min(stop * hopper::split_keys, end)};
    const int32_t r = holders.holder(s);
    if (!ranks_[static_cast<size_t>(r)]) {
      throw InputError("--dump", "", "expected one process: a rank's cache is in another");
    }
    ORTHROS_CUDA(cudaSetDevice(group_.device(r)));
    const KvStore& cache = rank(r).engine.cache();
    const auto part =
        keys ? cache.keys(layer, sequence, range) : cache.values(layer, sequence, range);
    all.insert(all.end(), part.begin(), part.end());
    s = stop;
  }
  ORTHROS_CUDA(cudaSetDevice(group_.device(group_.first_here())));
  return all;
}

std::vector<bf16_bits> ShardedEngine::keys(int64_t layer, int64_t sequence) const {
  return collect(layer, sequence, true);
}
std::vector<bf16_bits> ShardedEngine::values(int64_t layer, int64_t sequence) const {
  return collect(layer, sequence, false);
}

void ShardedEngine::fill_randomly(int64_t length) {
  const auto plan = plan_ranks(length, group_.ranks(), reach_, group_.options().balanced);
  for (SplitHolders& holders : holders_) {
    holders = SplitHolders(group_.ranks());
    for (int32_t r = 0; r < group_.ranks(); ++r) {
      const RankShard& shard = plan[static_cast<size_t>(r)];
      while (!shard.empty() && holders.splits() < split_count(shard.end)) holders.add(r);
    }
  }
  group_.run([&](int32_t r) {
    Rank& own = rank(r);
    const RankShard& shard = plan[static_cast<size_t>(r)];
    for (int64_t s = 0; s < limits_.sequences; ++s) {
      if (!shard.empty()) own.engine.cache().hold(s, {shard.from, shard.end});
    }
    own.engine.fill_randomly(length);
    for (int64_t s = 0; s < limits_.sequences; ++s) {
      own.outputs.place(s, holders_[static_cast<size_t>(s)], own.engine.stream());
    }
  });
}

void ShardedEngine::observe(OpObserver observer) {
  rank(group_.first_here()).engine.observe(std::move(observer));
}

void ShardedEngine::poison() {
  group_.run([&](int32_t r) { rank(r).engine.poison(); });
}

int64_t ShardedEngine::bytes() const {
  int64_t all = 0;
  for (const int32_t r : group_.here()) all += rank(r).engine.bytes() + rank(r).outputs_bytes;
  return all;
}

cudaStream_t ShardedEngine::stream() const {
  return rank(group_.first_here()).engine.stream();
}

void ShardedEngine::synchronise() const {
  group_.run([&](int32_t r) { rank(r).engine.synchronise(); });
}

}  // namespace orthros::cuda
