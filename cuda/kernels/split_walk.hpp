// The items of split attention and the order in which a block takes them.
#pragma once

#include "cuda/kernels/split_partials.hpp"
#include "cuda/layout/dealt_keys.hpp"

namespace orthros::cuda {

// Keys of an item that are worked on at once: a split, or part of a long window.
constexpr int chunk_keys = 512;

// An item's keys count from the start of its first 16-key block; visible are [first, last).
struct Item {
  int64_t row;
  int64_t kv_head;
  int64_t split;  // which of those that are here; -1: a window
  int64_t start;  // element of key 0's entry
  int first;
  int last;

  __device__ bool empty() const { return first >= last; }
  __device__ int chunks() const { return (last + chunk_keys - 1) / chunk_keys; }
  // Of a chunk.
  __device__ int blocks(int chunk) const {
    return (min(last - chunk * chunk_keys, chunk_keys) + 15) / 16;
  }
  __device__ bool sees(int key) const { return key >= first && key < last; }
};

__device__ inline Item item_at(const Attention& call, const HeldSplits& held,
                               const SplitItem& place) {
  const Row row = call.rows[place.row];
  const KeyRange range = place.split < 0
                             ? window_range(row.position, call.window)
                             : split_range(held.split(row.sequence, place.split), row.position + 1);
  const int64_t base = block_start(range.begin);
  return {place.row,
          place.kv_head,
          place.split,
          entry_offset(row.sequence, call.kv.sequence_stride, place.kv_head, call.kv.head_stride,
                       dealt_place(base, call.kv.deal.ranks), call.shape.width),
          static_cast<int>(range.begin - base),
          static_cast<int>(range.end - base)};
}

// Splits of the longest row that are here.
__device__ inline int64_t splits_now(const Attention& call, const HeldSplits& held,
                                     const SplitWork& work) {
  int most = 0;
  for (int64_t r = work.windowed_rows + threadIdx.x % 32; r < work.rows; r += 32) {
    const Row row = call.rows[r];
    const int here = held.list == nullptr ? static_cast<int>(split_count(row.position + 1))
                                          : held.counts[row.sequence];
    most = max(most, here);
  }
  return __reduce_max_sync(0xffffffffu, most);
}

// The block's items, none of them empty, as one warp walks through them: splits, then windows.
struct ItemWalk {
  const Attention& call;
  const SplitWork& work;
  const HeldSplits& held;
  int64_t index;
  int64_t items;  // splits; before `known`, enough to begin without a look at all rows
  ItemShare share{0, 0};
  bool known = false;

  __device__ ItemWalk(const Attention& call, const SplitWork& work, const SplitPartials& partials)
      : call(call),
        work(work),
        held(partials.held),
        index(blockIdx.x),
        items(min(split_items(work, partials.splits), int64_t{blockIdx.x} + 1)) {}

  __device__ bool next(Item& item) {
    while (share.stride == 0) {
      if (index < items) {
        item = item_at(call, held, split_item(work, index));
        index += gridDim.x;
        if (!item.empty()) return true;
      } else if (!known) {
        known = true;
        items = split_items(work, splits_now(call, held, work));
      } else {
        share = window_share(work, items, blockIdx.x, gridDim.x);
        index = share.first;
      }
    }
    if (index >= window_items(work)) return false;
    item = item_at(call, held, window_item(work, index));
    index += share.stride;
    return true;
  }
};

}  // namespace orthros::cuda
