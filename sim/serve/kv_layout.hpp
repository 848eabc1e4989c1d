// KvLayout: the bytes that a sequence's paged KV cache and recurrent states take.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/counts.hpp"
#include "sim/ops.hpp"

namespace orthros {

// Layers that keep the same tokens. A layer without a window, and every layer of a model with two
// streams, keeps all of them; a window of w ending anywhere touches at most
// ceil((w - 1) / block_size) + 1 blocks, and those are kept.
struct KvPool {
  int64_t block_bytes = 0;  // of one block in all of these layers, on one GPU
  int64_t most_blocks = 0;  // of one sequence

  int64_t blocks(int64_t tokens, int64_t block_size) const;
};

struct KvLayout {
  int64_t block_size = 1;
  std::vector<KvPool> pools;
  int64_t state_bytes = 0;  // of one sequence, whatever its length

  int64_t bytes(int64_t tokens) const;  // of one sequence; the largest int64 where past 64 bits
  int64_t next_token_bytes() const;     // the most that one more token can add
  // Every layer keeps every token and there is no state, so that a prefix's blocks are all that a
  // later request needs of it.
  bool resident() const;
};

// block_size from 1. Sizes past 64 bits are an InputError.
KvLayout kv_layout(const CountModel& model, const Deployment& deployment, int64_t block_size);

}  // namespace orthros
