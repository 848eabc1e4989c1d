// Kernels that move or make entries of caches, and compute nothing with them.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/layout/dealt_keys.hpp"
#include "cuda/layout/rows.hpp"
#include "reference/weights/counter_random.hpp"

namespace orthros::cuda {

// Keys and values of one sequence at positions `range`, every KV head, from e4m3 entries to bf16:
// those of position range.begin + i become entry i of sequence 0 of `to`.
void launch_widen_entries(const KvView& from, const AttentionShape& shape, int64_t sequence,
                          KeyRange range, const KvView& to, cudaStream_t stream);

// entries[i] = e4m3(random.normal(i)), i < count.
void launch_draw_entries(const CounterRandom& random, int64_t count, uint8_t* entries,
                         cudaStream_t stream);

// One layer's entries of a sequence: `whole`, at their positions in its sequence 0, and `part`, the
// splits of them that are dealt to a rank, at their places in its sequence `sequence`. Both bf16 or
// both e4m3.
struct DealtEntries {
  AttentionShape shape;
  KvView whole;
  KvView part;
  int64_t sequence;
  Deal deal;
};
// Those at `places` of the part into the whole; and out of it.
void launch_collect_entries(const DealtEntries& entries, KeyRange places, cudaStream_t stream);
void launch_keep_entries(const DealtEntries& entries, KeyRange places, cudaStream_t stream);

}  // namespace orthros::cuda
