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

// The work of a split launch, in items of one row and KV head: row by row every split of rows
// [windowed_rows, rows), then an item for each windowed row, rows [0, windowed_rows).
// Paired: rows r and windowed_rows + r are the two streams of one token. Then the windowed row's
// item is the other's last split too, which is none of the splits before.
struct SplitWork {
  int64_t windowed_rows;
  int64_t rows;
  int64_t kv_heads;
  int64_t window;
  bool paired = false;
};

struct SplitItem {
  int64_t row;
  int64_t kv_head;
  int64_t split;  // -1: a windowed row's only range
};

// Whether a last split and a window share an item: within one split's number of keys, whole blocks
// of them, and both streams' query heads as the 8 columns that a split's products have anyway.
ORTHROS_HOST_DEVICE constexpr bool streams_fit(int64_t window, int64_t group) {
  return window > 0 && window + hopper::block_keys - 1 <= hopper::split_keys && 2 * group <= 8;
}

// How many splits of a row at `position` are items of their own.
ORTHROS_HOST_DEVICE constexpr int64_t lone_splits(const SplitWork& work, int64_t position) {
  return work.paired ? split_of(position) : split_count(position + 1);
}

// The keys from the first block that a paired item reads, for the last split or the window, on.
ORTHROS_HOST_DEVICE constexpr KeyRange paired_range(int64_t position, int64_t window) {
  const int64_t split = split_of(position) * hopper::split_keys;
  const int64_t first = first_visible(position, window);
  return {block_start(first < split ? first : split), position + 1};
}

// A row's item `index`, splits ascending. Fewer than 2^32 items: short divisions.
ORTHROS_HOST_DEVICE constexpr SplitItem split_item(const SplitWork& work, int64_t row,
                                                   int64_t index) {
  const auto i = static_cast<uint32_t>(index);
  const auto kv_heads = static_cast<uint32_t>(work.kv_heads);
  return {row, i % kv_heads, i / kv_heads};
}

// Items of windowed rows.
ORTHROS_HOST_DEVICE constexpr int64_t window_items(const SplitWork& work) {
  return work.windowed_rows * work.kv_heads;
}
ORTHROS_HOST_DEVICE constexpr SplitItem window_item(const SplitWork& work, int64_t index) {
  const auto i = static_cast<uint32_t>(index);
  const auto rows = static_cast<uint32_t>(work.windowed_rows);
  return {i % rows, i / rows, -1};
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
