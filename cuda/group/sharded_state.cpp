// ShardedEngine's sequences: lengths, entries, random caches.
#include <algorithm>

#include "cuda/engine/kv_store.hpp"
#include "cuda/group/sharded_rank.hpp"
#include "cuda/group/world.hpp"

namespace orthros::cuda {

int64_t ShardedEngine::length(int64_t sequence) const {
  return first().length(sequence);
}

void ShardedEngine::truncate(int64_t sequence, int64_t length) {
  for (const int32_t r : group_.here()) rank(r).engine.truncate(sequence, length);
  holders(sequence).truncate(length);
}

void ShardedEngine::reset() {
  for (const int32_t r : group_.here()) rank(r).engine.reset();
  for (SplitHolders& known : holders_) known.truncate(0);
}

// Entries from whoever holds them, position by position; where that is another process, it tells.
std::vector<bf16_bits> ShardedEngine::collect(int64_t layer, int64_t sequence, bool keys) const {
  const SplitHolders& known = holders(sequence);
  const int64_t end = length(sequence);
  const int64_t width = std::get<SoftmaxAttention>(spec_.layers.front().mixer).kv_width();
  std::vector<bf16_bits> all;
  for (int64_t s = 0; s < known.splits();) {
    int64_t stop = s;
    while (stop < known.splits() && known.holder(stop) == known.holder(s)) ++stop;
    const bool dealt = spreading_ == Spreading::rounds;
    const int64_t begin = s * hopper::split_keys;
    const int64_t place = dealt ? dealt_place(begin, group_.ranks()) : begin;
    const KeyRange range{place, place + std::min(stop * hopper::split_keys, end) - begin};
    const int32_t r = known.holder(s);
    std::vector<bf16_bits> part(static_cast<size_t>((range.end - range.begin) * width));
    if (const auto& holder = ranks_[static_cast<size_t>(r)]) {
      ORTHROS_CUDA(cudaSetDevice(group_.device(r)));
      const KvStore& cache = holder->engine.cache();
      part = keys ? cache.keys(layer, sequence, range) : cache.values(layer, sequence, range);
    }
    broadcast(part.data(), static_cast<int64_t>(part.size() * sizeof(bf16_bits)), r);
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
  const bool dealt = spreading_ == Spreading::rounds;
  for (int64_t s = 0; s < limits_.sequences; ++s) {
    holders(s).truncate(0);
    if (dealt) {
      extend(s, length);
    } else {
      hold_shards(s, plan);
    }
  }
  group_.run([&](int32_t r) {
    Engine& engine = rank(r).engine;
    const RankShard& shard = plan[static_cast<size_t>(r)];
    for (int64_t s = 0; s < limits_.sequences; ++s) {
      if (dealt || shard.empty()) continue;
      engine.cache().hold(s, {shard.from, shard.end}, engine.stream());
    }
    engine.fill_randomly(length);
    for (int64_t s = 0; s < limits_.sequences; ++s) place(r, s);
  });
}

void ShardedEngine::observe(OpObserver observer) {
  first().observe(std::move(observer));
}

void ShardedEngine::poison() {
  group_.run([&](int32_t r) { rank(r).engine.poison(); });
}

int64_t ShardedEngine::bytes() const {
  int64_t all = 0;
  for (const int32_t r : group_.here()) all += rank(r).bytes();
  return all;
}

cudaStream_t ShardedEngine::stream() const {
  return first().stream();
}

void ShardedEngine::synchronise() const {
  group_.run([&](int32_t r) { rank(r).engine.synchronise(); });
}

}  // namespace orthros::cuda
