// The items of split attention and the order in which a block takes them.
#pragma once

#include "cuda/kernels/item_queue.hpp"
#include "cuda/kernels/settled_row.hpp"
#include "cuda/kernels/split_partials.hpp"
#include "cuda/layout/dealt_keys.hpp"

namespace orthros::cuda {

// Keys of an item that are worked on at once: a split, or part of a long window.
constexpr int chunk_keys = 512;

// An item's keys count from the start of its first 16-key block, and end with `last`. Its columns
// are the query heads of a split's row, which see keys from split_first on, then those of a
// windowed row, which see keys from window_first on; either may be missing.
struct Item {
  int64_t start;  // element of key 0's entry
  int kv_head;
  int split_row;   // -1: none
  int split;       // which of those that are here
  int window_row;  // -1: none
  int split_first;
  int window_first;
  int last;

  __device__ bool splits() const { return split_row >= 0; }
  __device__ bool windows() const { return window_row >= 0; }
  __device__ int chunks() const { return (last + chunk_keys - 1) / chunk_keys; }
  // Passes over keys alone, for the maxima of more than one chunk, before those over keys and
  // values.
  __device__ int scans() const { return chunks() > 1 ? chunks() : 0; }
  // Of a chunk.
  __device__ int blocks(int chunk) const {
    return (min(last - chunk * chunk_keys, chunk_keys) + 15) / 16;
  }
  // The columns that are a split's, of groups of `group` query heads, and all that are used.
  __device__ int split_columns(int group) const { return splits() ? group : 0; }
  __device__ int columns(int group) const { return split_columns(group) + (windows() ? group : 0); }
  // The first key that a column sees.
  __device__ int first(int column, int group) const {
    return column < split_columns(group) ? split_first : window_first;
  }
  // The first key that any column sees.
  __device__ int first_seen() const {
    if (!windows()) return split_first;
    return splits() ? min(split_first, window_first) : window_first;
  }
};

// An item over a range of keys; its columns are yet to be told.
__device__ inline Item item_over(const Attention& call, const Row& row, int64_t kv_head,
                                 const KeyRange& range) {
  const int64_t base = block_start(range.begin);
  return {entry_offset(row.sequence, call.kv.sequence_stride, kv_head, call.kv.head_stride,
                       dealt_place(base, call.kv.deal.ranks), call.shape.width),
          static_cast<int>(kv_head),
          -1,
          0,
          -1,
          0,
          0,
          static_cast<int>(range.end - base)};
}

// row: place.row's.
__device__ inline Item split_item_over(const Attention& call, const HeldSplits& held,
                                       const SplitWork& work, const SplitItem& place,
                                       const Row& row) {
  const int64_t keys =
      work.paired ? lone_splits(work, row.position) * hopper::split_keys : row.position + 1;
  const KeyRange range = split_range(held.split(row.sequence, place.split), keys);
  Item item = item_over(call, row, place.kv_head, range);
  item.split_row = static_cast<int>(place.row);
  item.split = static_cast<int>(place.split);
  return item;
}

__device__ inline Item window_item_over(const Attention& call, const SplitWork& work,
                                        const SplitItem& place, const Row& row) {
  const KeyRange window = window_range(row.position, call.window);
  const KeyRange range = work.paired ? paired_range(row.position, call.window) : window;
  Item item = item_over(call, row, place.kv_head, range);
  const int64_t base = block_start(range.begin);
  item.window_row = static_cast<int>(place.row);
  item.window_first = static_cast<int>(window.begin - base);
  if (!work.paired) return item;
  const int64_t split = split_of(row.position);
  item.split_row = static_cast<int>(work.windowed_rows + place.row);
  item.split = static_cast<int>(split);
  item.split_first = static_cast<int>(split * hopper::split_keys - base);
  return item;
}

// The block's items, as one warp walks through them.
struct ItemWalk {
  const Attention& call;
  const SplitWork& work;
  const HeldSplits& held;
  ItemQueue queue;
  Item item;  // where the walk is, unless it has ended
  bool ended;

  // At the first item. May be made before the launches ahead have ended.
  __device__ ItemWalk(const Attention& call, const SplitWork& work, const SplitPartials& partials,
                      ItemQueue queue)
      : call(call), work(work), held(partials.held), queue(queue) {
    int count = 0;
    for (int64_t r = work.windowed_rows + threadIdx.x % 32; r < work.rows; r += 32) {
      count += items_of(settled_row(call.rows + r));
    }
    splits_ = __reduce_add_sync(0xffffffffu, count);
    items_ = splits_ + static_cast<int>(window_items(work));
    find(static_cast<int>(blockIdx.x), settled_row);
  }

  // On to the next item, once it has been put in the queue.
  __device__ void next() {
    __syncwarp();
    find(queue.get(turn_++), [](const Row* row) { return *row; });
  }

  // The item behind the present one, for the queue: one thread's, once an item. Every block that
  // has had an item claims until nothing is left, which makes as many claims as there are items:
  // the count is zero again.
  __device__ int claim() const {
    const unsigned last = static_cast<unsigned>(items_) - 1;
    return min(static_cast<int>(gridDim.x), items_) +
           static_cast<int>(atomicInc(call.claims, last));
  }
  __device__ void put(int claimed) const { queue.put(turn_, claimed); }

 private:
  // Splits of a row behind the windowed ones that are here and items of their own, times heads.
  __device__ int items_of(const Row& row) const {
    const int64_t splits = held.count(row.sequence, lone_splits(work, row.position));
    return static_cast<int>(splits * work.kv_heads);
  }

  template <class ReadRow>
  __device__ void find(int index, const ReadRow& read) {
    ended = index >= items_;
    if (ended) return;
    if (index >= splits_) {
      const SplitItem place = window_item(work, index - splits_);
      item = window_item_over(call, work, place, read(call.rows + place.row));
      return;
    }
    for (int64_t first = work.windowed_rows;; first += 32) {
      const int64_t mine = first + threadIdx.x % 32;
      Row row{};
      int count = 0;
      if (mine < work.rows) {
        row = read(call.rows + mine);
        count = items_of(row);
      }
      int end = count;  // of the items of rows up to the lane's
      for (int apart = 1; apart < 32; apart *= 2) {
        const int before = __shfl_up_sync(0xffffffffu, end, apart);
        if (static_cast<int>(threadIdx.x) % 32 >= apart) end += before;
      }
      const unsigned behind = __ballot_sync(0xffffffffu, index < end);
      if (behind == 0) {
        index -= __shfl_sync(0xffffffffu, end, 31);
        continue;
      }
      const int lane = __ffs(behind) - 1;
      index -= __shfl_sync(0xffffffffu, end - count, lane);
      row.position = __shfl_sync(0xffffffffu, row.position, lane);
      row.sequence = __shfl_sync(0xffffffffu, row.sequence, lane);
      item = split_item_over(call, held, work, split_item(work, first + lane, index), row);
      return;
    }
  }

  int splits_;
  int items_;
  int turn_ = 0;
};

}  // namespace orthros::cuda
