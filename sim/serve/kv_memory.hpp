// KvMemory: the bytes that a replica's sequences hold, while decode makes them grow.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/serve/kv_layout.hpp"

namespace orthros {

// Counts blocks, in closed form over runs of decode steps. Holding sequences keep their size;
// growing ones gain a token a step. A block is gained when a full last one is outgrown, which is
// when tokens mod block_size says, so growing sequences are counted by that residue.
class KvMemory {
 public:
  explicit KvMemory(const KvLayout& layout);

  void hold(int64_t tokens) { held_ += layout_.bytes(tokens); }
  void let_go(int64_t tokens) { held_ -= layout_.bytes(tokens); }
  void start_growing(int64_t tokens);
  void stop_growing(int64_t tokens);
  // Every growing sequence `steps` tokens longer, steps <= steady_steps().
  void advance(int64_t steps);
  // Steps until some window may be full; then clear_growing() and start_growing() all anew.
  int64_t steady_steps() const { return steady_steps_; }
  void clear_growing();

  int64_t used() const { return used_after(0); }
  int64_t used_after(int64_t steps) const;  // steps <= steady_steps(); clamped to 64 bits
  // The most steps, at most `limit`, after which `room` bytes are not exceeded; 0 where none.
  int64_t steps_within(int64_t room, int64_t limit) const;

  const KvLayout& layout() const { return layout_; }

 private:
  struct Growing {
    std::vector<int64_t> by_residue;  // sequences that gain a block in steps = residue mod size
    int64_t sequences = 0;
    int64_t blocks = 0;  // of all growing sequences, those whose window is full included
  };
  int64_t new_blocks(const Growing& pool, int64_t steps) const;
  size_t residue(int64_t tokens) const;

  KvLayout layout_;
  std::vector<Growing> growing_;  // by pool
  int64_t held_ = 0;              // by those that do not grow
  int64_t states_ = 0;            // growing sequences
  int64_t clock_ = 0;             // decode steps, modulo the block size
  int64_t steady_steps_ = longest_sequence;
};

}  // namespace orthros
