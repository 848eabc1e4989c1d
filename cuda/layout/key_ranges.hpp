// Which keys an attention kernel reads and where they stand: index arithmetic for host and device.
#pragma once

#include "reference/hopper/softmax_order.hpp"

namespace orthros::cuda {

// Keys at absolute positions [begin, end).
struct KeyRange {
  int64_t begin;
  int64_t end;
};

// The first key that a base row at `position` sees through a window (0: no window).
ORTHROS_HOST_DEVICE constexpr int64_t first_visible(int64_t position, int64_t window) {
  return window == 0 || position < window ? 0 : position - window + 1;
}

// The keys of a base row at `position`.
ORTHROS_HOST_DEVICE constexpr KeyRange window_range(int64_t position, int64_t window) {
  return {first_visible(position, window), position + 1};
}

// The first key of the 16-key block that holds key j.
ORTHROS_HOST_DEVICE constexpr int64_t block_start(int64_t j) {
  return j / hopper::block_keys * hopper::block_keys;
}

// How many 16-key blocks hold a key of a range.
ORTHROS_HOST_DEVICE constexpr int64_t block_count(KeyRange range) {
  if (range.begin >= range.end) return 0;
  return (range.end - 1) / hopper::block_keys - range.begin / hopper::block_keys + 1;
}

ORTHROS_HOST_DEVICE constexpr int64_t split_of(int64_t j) {
  return j / hopper::split_keys;
}

// How many splits hold the keys [0, keys).
ORTHROS_HOST_DEVICE constexpr int64_t split_count(int64_t keys) {
  return (keys + hopper::split_keys - 1) / hopper::split_keys;
}

// The keys of a split among [0, keys); empty, and never backwards, past them.
ORTHROS_HOST_DEVICE constexpr KeyRange split_range(int64_t split, int64_t keys) {
  const int64_t begin = split * hopper::split_keys;
  const int64_t end = begin + hopper::split_keys < keys ? begin + hopper::split_keys : keys;
  return {begin, end < begin ? begin : end};
}

// The element at which the entry of `position` starts in a layer's keys or values (KvView).
ORTHROS_HOST_DEVICE constexpr int64_t entry_offset(int64_t sequence, int64_t sequence_stride,
                                                   int64_t head, int64_t head_stride,
                                                   int64_t position, int64_t width) {
  return sequence * sequence_stride + head * head_stride + position * width;
}

// The work of a split launch, in items of one row and KV head: every split of rows
// [windowed_rows, rows), splits in ascending order, so that items past the longest row are the
// last; and the range of each windowed row, rows [0, windowed_rows).
struct SplitWork {
  int64_t windowed_rows;
  int64_t rows;
  int64_t kv_heads;
  int64_t window;
};

struct SplitItem {
  int64_t row;
  int64_t kv_head;
  int64_t split;  // -1: a windowed row's only range
};

ORTHROS_HOST_DEVICE constexpr int64_t split_items(const SplitWork& work, int64_t splits) {
  return (work.rows - work.windowed_rows) * splits * work.kv_heads;
}
ORTHROS_HOST_DEVICE constexpr SplitItem split_item(const SplitWork& work, int64_t item) {
  const int64_t split_rows = work.rows - work.windowed_rows;
  const int64_t pair = item / split_rows;  // split and KV head
  return {work.windowed_rows + item % split_rows, pair % work.kv_heads, pair / work.kv_heads};
}

ORTHROS_HOST_DEVICE constexpr int64_t window_items(const SplitWork& work) {
  return work.windowed_rows * work.kv_heads;
}
ORTHROS_HOST_DEVICE constexpr SplitItem window_item(const SplitWork& work, int64_t item) {
  return {item % work.windowed_rows, item / work.windowed_rows, -1};
}

// Items first, first + stride, .. are one block's.
struct ItemShare {
  int64_t first;
  int64_t stride;
};

// A block's windows. Of `items` splits it takes every blocks-th from its own number on, so the
// blocks behind the last one have one fewer: windows go to them, and to all where they are too
// many.
ORTHROS_HOST_DEVICE constexpr ItemShare window_share(const SplitWork& work, int64_t items,
                                                     int64_t block, int64_t blocks) {
  const int64_t taken = items % blocks;
  const int64_t left = blocks - taken;
  if (window_items(work) * work.window > left * hopper::split_keys) {
    return {block < taken ? block + left : block - taken, blocks};
  }
  return {block < taken ? window_items(work) : block - taken, left};
}

// Where a split launch leaves a split's partial softmax: its place among [query head][row behind
// the windowed ones][split]. Times width it is the place of the split's weighted values.
ORTHROS_HOST_DEVICE constexpr int64_t partial_offset(int64_t split_row, int64_t split_rows,
                                                     int64_t head, int64_t splits, int64_t split) {
  return (head * split_rows + split_row) * splits + split;
}

// The order in which a block of range attention uses its tiles of keys and of values. First all
// keys, for the maxima. Then, tile by tile, keys and values; before those of each segment (a split,
// or a whole window) whose maxima were not kept, its keys alone.
struct TileStep {
  int tile;
  bool values;
};

struct TileSchedule {
  int tiles;
  int segment_tiles;
  int kept_tiles;  // whole segments, or all tiles

  ORTHROS_HOST_DEVICE constexpr int steps() const {
    return tiles + 2 * kept_tiles + 3 * (tiles - kept_tiles);
  }
  ORTHROS_HOST_DEVICE constexpr TileStep at(int step) const {
    if (step < tiles) return {step, false};
    step -= tiles;
    if (step < 2 * kept_tiles) return {step / 2, step % 2 != 0};
    step -= 2 * kept_tiles;
    const int first = kept_tiles + step / (3 * segment_tiles) * segment_tiles;
    const int scanned = segment_tiles < tiles - first ? segment_tiles : tiles - first;
    step %= 3 * segment_tiles;
    if (step < scanned) return {first + step, false};
    return {first + (step - scanned) / 2, (step - scanned) % 2 != 0};
  }
};

}  // namespace orthros::cuda
