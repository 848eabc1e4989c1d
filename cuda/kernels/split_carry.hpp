// The warps that fill split attention's ring with keys, values and queries.
#pragma once

#include "cuda/kernels/split_ring.hpp"

namespace orthros::cuda {

template <class Entry>
__device__ const Entry* keys_of(const KvView& kv) {
  if constexpr (std::is_same_v<Entry, uint8_t>) {
    return kv.keys8;
  } else {
    return kv.keys;
  }
}
template <class Entry>
__device__ const Entry* values_of(const KvView& kv) {
  if constexpr (std::is_same_v<Entry, uint8_t>) {
    return kv.values8;
  } else {
    return kv.values;
  }
}

// Brings the queries of the item's columns, and zeros for columns that it does not use.
template <int width, int tiles, class Entry>
__device__ void carry_queries(uint32_t to, const Attention& call, const Item& item) {
  using S = SplitShape<width, tiles, Entry>;
  constexpr int query_chunks = width / 8;
  const int group = static_cast<int>(call.shape.query_heads / call.shape.kv_heads);
  const int split_columns = item.split_columns(group);
  for (int i = threadIdx.x - worker_threads; i < S::heads * query_chunks; i += S::carrier_threads) {
    const int column = i / query_chunks;
    const bool windowed = column >= split_columns;
    const int64_t row = windowed ? item.window_row : item.split_row;
    const int64_t head = item.kv_head * group + column - (windowed ? split_columns : 0);
    copy_or_zero(to + tile_offset(column, i % query_chunks, S::heads),
                 call.q + row * call.row_stride + head * width + i % query_chunks * 8,
                 column < item.columns(group));
  }
}

// Brings keys [begin, begin + count) or their values, entries at `from`, to a slot. A thread has
// every row_step-th of them and always the same 16 bytes of an entry, so that a whole tile, all of
// which is seen, has its addresses as constants. Entries that no column sees come as zeros.
template <int width, int tiles, class Entry>
__device__ void carry_tile(uint32_t slot, const Item& item, int begin, int count,
                           const Entry* from) {
  using S = SplitShape<width, tiles, Entry>;
  constexpr int row_chunks = S::entry_bytes / 16;
  constexpr int row_step = S::carrier_threads / row_chunks;
  static_assert(row_step % 4 == 0);
  const int thread = threadIdx.x - worker_threads;
  const int row = thread / row_chunks;
  const int piece = thread % row_chunks;
  // 16-byte chunks change places with a period of 8 rows: two steps at most.
  const uint32_t even = slot + tile_offset(row, piece, S::tile_keys);
  const uint32_t odd = slot + tile_offset(row + row_step, piece, S::tile_keys) - row_step * 128;
  const auto target = [&](int step) {
    return (step % 2 == 0 ? even : odd) + step * row_step * 128;
  };
  const Entry* source = from + int64_t{begin + row} * width + piece * (width / row_chunks);
  const int first = item.first_seen();
  const uint64_t policy = read_once();
  if (begin >= first && begin + S::tile_keys <= item.last) {
#pragma unroll
    for (int step = 0; step < S::tile_keys / row_step; ++step) {
      copy(target(step), source + step * row_step * width, policy);
    }
    return;
  }
  for (int step = 0; step * row_step + row < count; ++step) {
    const int key = begin + row + step * row_step;
    copy_or_zero(target(step), source + step * row_step * width, key >= first && key < item.last);
  }
}

// Brings a chunk's keys or values, entries at `from`, tile by tile; with the first of an item, its
// queries.
template <int width, int tiles, class Entry>
__device__ void carry_chunk(Ring<SplitShape<width, tiles, Entry>::slots>& ring, uint32_t shared,
                            const Attention& call, const Item& item, int chunk, const Entry* from,
                            bool queries) {
  using S = SplitShape<width, tiles, Entry>;
  const int keys = 16 * item.blocks(chunk);
  for (int begin = 0; begin < keys; begin += S::tile_keys) {
    const uint32_t slot = shared + ring.slot * S::slot_bytes;
    barrier_wait(ring.empty(), ring.parity ^ 1);
    carry_tile<width, tiles, Entry>(slot, item, chunk * chunk_keys + begin,
                                    min(keys - begin, S::tile_keys), from);
    if (queries) carry_queries<width, tiles, Entry>(slot + S::tile_bytes, call, item);
    queries = false;
    barrier_arrive_after_copies(ring.full());
    ring.advance();
  }
}

template <int width, int tiles, class Entry>
__device__ void carry_item(Ring<SplitShape<width, tiles, Entry>::slots>& ring, uint32_t shared,
                           const Attention& call, const ItemWalk& walk) {
  const Item& item = walk.item;
  const Entry* keys = keys_of<Entry>(call.kv) + item.start;
  const Entry* values = values_of<Entry>(call.kv) + item.start;
  const int chunks = item.chunks();
  const int passes = item.scans() + chunks;
  const bool claims = threadIdx.x == worker_threads;
  int claimed = 0;
  for (int pass = 0; pass < passes; ++pass) {
    const int chunk = pass < item.scans() ? pass : pass - item.scans();
    // The answer comes while the last tiles are asked for.
    if (claims && pass + 1 == passes) claimed = walk.claim();
    for (int part = 0; part < (pass < item.scans() ? 1 : 2); ++part) {
      carry_chunk<width, tiles, Entry>(ring, shared, call, item, chunk, part == 0 ? keys : values,
                                       pass == 0 && part == 0);
    }
  }
  if (claims) walk.put(claimed);
}

template <int width, int tiles, class Entry>
__device__ void carry(const Attention& call, ItemWalk& walk, uint32_t shared, uint32_t barriers) {
  Ring<SplitShape<width, tiles, Entry>::slots> ring{barriers};
  for (; !walk.ended; walk.next()) {
    carry_item<width, tiles, Entry>(ring, shared, call, walk);
  }
}

}  // namespace orthros::cuda
