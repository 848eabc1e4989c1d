// Kernels on caches of e4m3 entries as a whole.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/layout/key_ranges.hpp"
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

}  // namespace orthros::cuda
