// A block as the team of TeamAttention, and the keys it reads, for attention in plain code.
#pragma once

#include <type_traits>

#include "cuda/kernels/attention.hpp"
#include "cuda/kernels/mma.hpp"
#include "cuda/layout/dealt_keys.hpp"
#include "cuda/layout/team_attention.hpp"

namespace orthros::cuda {

inline constexpr int64_t plain_widest = 512;
inline constexpr int plain_threads = 128;

struct PlainBlock {
  __device__ static int64_t size() { return plain_threads; }
  template <class Phase>
  __device__ static void each(const Phase& phase) {
    phase(threadIdx.x);
    __syncthreads();
  }
};

struct PlainMemory {
  float most[plain_threads];
  float exact[team_keys];
  uint16_t weights[team_keys];
  float chains[hopper::sum_chains];
  float part[plain_widest];
  float total[plain_widest];

  __device__ TeamMemory team() { return {most, exact, weights, chains, part, total}; }
};

// A KV head's keys at positions `range`, of the call's kind of entries; where splits are dealt, of
// one split.
template <class Keys>
__device__ Keys plain_keys(const Attention& call, const Row& row, int64_t kv_head, KeyRange range) {
  const int64_t width = call.shape.width;
  const int64_t moved = dealt_place(range.begin, call.kv.deal.ranks) - range.begin;
  const int64_t start = entry_offset(row.sequence, call.kv.sequence_stride, kv_head,
                                     call.kv.head_stride, moved, width);
  if constexpr (std::is_same_v<Keys, E4m3Keys>) {
    return {call.kv.keys8 + start,
            call.kv.values8 + start,
            width,
            width,
            range.begin,
            range.end,
            call.kv.exponents[kv_head],
            call.kv.exponents[call.shape.kv_heads + kv_head]};
  } else {
    return {call.kv.keys + start, call.kv.values + start, width, width, range.begin, range.end};
  }
}

}  // namespace orthros::cuda
