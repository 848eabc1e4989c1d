// Counts the blocks that sequences gain as they grow.
#include "sim/serve/kv_memory.hpp"

#include <algorithm>
#include <limits>

namespace orthros {

KvMemory::KvMemory(const KvLayout& layout) : layout_(layout), growing_(layout.pools.size()) {
  for (Growing& pool : growing_) pool.by_residue.resize(static_cast<size_t>(layout_.block_size));
}

// The sequence outgrows its last block in the step that starts with tokens = 0 mod block_size.
size_t KvMemory::residue(int64_t tokens) const {
  const int64_t size = layout_.block_size;
  return static_cast<size_t>(((clock_ - tokens) % size + size) % size);
}

void KvMemory::start_growing(int64_t tokens) {
  ++states_;
  for (size_t i = 0; i < growing_.size(); ++i) {
    const KvPool& pool = layout_.pools[i];
    growing_[i].blocks += pool.blocks(tokens, layout_.block_size);
    const int64_t full = pool.most_blocks * layout_.block_size;
    if (tokens >= full) continue;
    ++growing_[i].by_residue[residue(tokens)];
    ++growing_[i].sequences;
    steady_steps_ = std::min(steady_steps_, full - tokens);
  }
}

void KvMemory::stop_growing(int64_t tokens) {
  --states_;
  for (size_t i = 0; i < growing_.size(); ++i) {
    const KvPool& pool = layout_.pools[i];
    growing_[i].blocks -= pool.blocks(tokens, layout_.block_size);
    if (tokens >= pool.most_blocks * layout_.block_size) continue;
    --growing_[i].by_residue[residue(tokens)];
    --growing_[i].sequences;
  }
}

int64_t KvMemory::new_blocks(const Growing& pool, int64_t steps) const {
  const int64_t size = layout_.block_size;
  int64_t blocks = steps / size * pool.sequences;
  for (int64_t step = clock_; step < clock_ + steps % size; ++step) {
    blocks += pool.by_residue[static_cast<size_t>(step % size)];
  }
  return blocks;
}

void KvMemory::advance(int64_t steps) {
  for (Growing& pool : growing_) pool.blocks += new_blocks(pool, steps);
  clock_ = (clock_ + steps) % layout_.block_size;
  steady_steps_ -= steps;
}

void KvMemory::clear_growing() {
  for (Growing& pool : growing_) {
    std::fill(pool.by_residue.begin(), pool.by_residue.end(), 0);
    pool.sequences = 0;
    pool.blocks = 0;
  }
  states_ = 0;
  steady_steps_ = longest_sequence;
}

int64_t KvMemory::used_after(int64_t steps) const {
  int128 bytes = int128{held_} + int128{states_} * layout_.state_bytes;
  for (size_t i = 0; i < growing_.size(); ++i) {
    const int64_t blocks = growing_[i].blocks + (steps > 0 ? new_blocks(growing_[i], steps) : 0);
    bytes += int128{blocks} * layout_.pools[i].block_bytes;
  }
  return static_cast<int64_t>(std::min<int128>(bytes, std::numeric_limits<int64_t>::max()));
}

int64_t KvMemory::steps_within(int64_t room, int64_t limit) const {
  if (used_after(limit) <= room) return limit;
  int64_t fits = 0;
  int64_t over = limit;
  while (over - fits > 1) {
    const int64_t middle = fits + (over - fits) / 2;
    (used_after(middle) <= room ? fits : over) = middle;
  }
  return fits;
}

}  // namespace orthros
