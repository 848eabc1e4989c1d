// One layer's keys and values between a whole sequence and the splits dealt to one rank, a block a
// split and head.
#include <algorithm>

#include "cuda/kernels/kv_entries.hpp"
#include "cuda/support/launch.hpp"

namespace orthros::cuda {
namespace {

constexpr int threads = 256;

// Keys and values in units of a thread's copy, heads head_stride units apart.
template <class Unit>
struct Side {
  Unit* entries[2];
  int64_t head_stride;
};

template <class Unit>
Side<Unit> side_of(const KvView& kv, int64_t sequence, int64_t unit_elements) {
  const auto at = [&](auto* entries) {
    return reinterpret_cast<Unit*>(entries + sequence * kv.sequence_stride);
  };
  const int64_t head_stride = kv.head_stride / unit_elements;
  if (kv.keys8 != nullptr) return {{at(kv.keys8), at(kv.values8)}, head_stride};
  return {{at(kv.keys), at(kv.values)}, head_stride};
}

// Grid: splits from the one that holds places.begin, KV heads, {keys, values}.
template <class Unit>
__global__ void __launch_bounds__(threads)
    deal_entries(Side<Unit> whole, Side<Unit> part, Deal deal, KeyRange places, int64_t entry_units,
                 bool collects) {
  begin_after_previous();
  const int64_t split = split_of(places.begin) + blockIdx.x;
  const int64_t begin = max(split * hopper::split_keys, places.begin);
  const int64_t end = min((split + 1) * hopper::split_keys, places.end);
  Unit* in_whole = whole.entries[blockIdx.z] + blockIdx.y * whole.head_stride +
                   dealt_position(begin, deal) * entry_units;
  Unit* in_part = part.entries[blockIdx.z] + blockIdx.y * part.head_stride + begin * entry_units;
  const Unit* from = collects ? in_part : in_whole;
  Unit* to = collects ? in_whole : in_part;
  const int64_t units = (end - begin) * entry_units;
#pragma unroll 4
  for (int64_t i = threadIdx.x; i < units; i += threads) to[i] = from[i];
}

template <class Unit>
void launch_units(const DealtEntries& entries, KeyRange places, bool collects,
                  cudaStream_t stream) {
  const AttentionShape& shape = entries.shape;
  const int64_t unit_elements =
      static_cast<int64_t>(sizeof(Unit)) / (entries.whole.keys8 != nullptr ? 1 : 2);
  const int64_t splits = split_count(places.end) - split_of(places.begin);
  const dim3 blocks(static_cast<unsigned>(splits), static_cast<unsigned>(shape.kv_heads), 2);
  launch(deal_entries<Unit>, {blocks, dim3(threads)}, stream,
         side_of<Unit>(entries.whole, 0, unit_elements),
         side_of<Unit>(entries.part, entries.sequence, unit_elements), entries.deal, places,
         shape.width / unit_elements, collects);
}

void launch_copy(const DealtEntries& entries, KeyRange places, bool collects, cudaStream_t stream) {
  if (places.begin >= places.end) return;
  constexpr int64_t wide = sizeof(uint4);
  const int64_t entry_bytes = entries.shape.width * (entries.whole.keys8 != nullptr ? 1 : 2);
  if (entry_bytes % wide == 0) {
    launch_units<uint4>(entries, places, collects, stream);
  } else {
    launch_units<uint2>(entries, places, collects, stream);
  }
}

}  // namespace

void launch_collect_entries(const DealtEntries& entries, KeyRange places, cudaStream_t stream) {
  launch_copy(entries, places, true, stream);
}

void launch_keep_entries(const DealtEntries& entries, KeyRange places, cudaStream_t stream) {
  launch_copy(entries, places, false, stream);
}

}  // namespace orthros::cuda
