// The ring of split attention: tiles of keys and values in shared memory and the warps that fill
// them.
#pragma once

#include "cuda/kernels/mma.hpp"
#include "cuda/kernels/split_walk.hpp"

namespace orthros::cuda {

// Warps of a block: some bring keys and values into a ring of tiles in shared memory, the others
// work on them. An item's keys come in chunks of 512 from its first 16-key block on; a split is one
// chunk, a window may be several. Scores are the products' transposes, keys x query heads: query
// heads of the KV head are the columns, padded to 8 or 16, so that a group shares each key read.
constexpr int workers = 8;   // warps
constexpr int carriers = 4;  // warps
constexpr int worker_threads = 32 * workers;
constexpr int carrier_threads = 32 * carriers;
constexpr int chunk_blocks = chunk_keys / 16;
constexpr int owned_blocks = chunk_blocks / workers;  // 16-key blocks of a chunk, of each worker
constexpr int tile_bytes = 32768;
constexpr int most_shared = 227 * 1024;

// tiles: column tiles, 8 query heads each.
template <int width, int tiles>
struct SplitShape {
  static constexpr int tile_keys = tile_bytes / (2 * width);
  static constexpr int tile_blocks = tile_keys / 16;
  static constexpr int chunk_tiles = chunk_keys / tile_keys;
  static constexpr int heads = 8 * tiles;
  static constexpr int slot_bytes = tile_bytes + heads * width * 2;  // with q behind the tile
  // Behind the slots: weights as floats [tile][key][8], as bf16 likewise, the workers' maxima
  // [worker][heads], sums [heads], two barriers for each slot.
  static constexpr int exact_bytes = tiles * chunk_keys * 8 * 4;
  static constexpr int weight_bytes = tiles * chunk_keys * 8 * 2;
  static constexpr int most_bytes = workers * heads * 4;
  static constexpr int sum_bytes = heads * 4;
  static constexpr int barrier_bytes = 256;
  static constexpr int other_bytes =
      exact_bytes + weight_bytes + most_bytes + sum_bytes + barrier_bytes;
  static constexpr int slots = (most_shared - other_bytes) / slot_bytes;
  static constexpr int shared_bytes = slots * slot_bytes + other_bytes;
  // 16-column tiles of a worker's part of the output; workers past the width have none.
  static constexpr int row_tiles = width / 16 > workers ? width / 16 / workers : 1;
};

// The ring as one warp walks it.
template <int slots>
struct Ring {
  uint32_t barriers;
  int slot = 0;
  uint32_t parity = 0;

  __device__ uint32_t full() const { return barriers + 16 * slot; }
  __device__ uint32_t empty() const { return barriers + 16 * slot + 8; }
  __device__ void advance() {
    if (++slot == slots) {
      slot = 0;
      parity ^= 1;
    }
  }
};

// Brings a chunk's keys or values, entries at `from`, tile by tile; with the first, q where it is
// not null. Entries that the item does not see come as zeros.
template <int width, int tiles>
__device__ void carry_chunk(Ring<SplitShape<width, tiles>::slots>& ring, uint32_t shared,
                            const Item& item, int chunk, const bf16_bits* from, const bf16_bits* q,
                            int group) {
  using S = SplitShape<width, tiles>;
  constexpr int row_chunks = width / 8;
  const int thread = threadIdx.x - worker_threads;
  const int keys = 16 * item.blocks(chunk);
  for (int begin = 0; begin < keys; begin += S::tile_keys) {
    const uint32_t slot = shared + ring.slot * S::slot_bytes;
    barrier_wait(ring.empty(), ring.parity ^ 1);
    const int here = min(keys - begin, S::tile_keys);
#pragma unroll 4
    for (int i = thread; i < here * row_chunks; i += carrier_threads) {
      const int row = i / row_chunks;
      const int key = chunk * chunk_keys + begin + row;
      copy_or_zero(slot + tile_offset(row, i % row_chunks, S::tile_keys),
                   from + int64_t{key} * width + i % row_chunks * 8, item.sees(key));
    }
    if (q != nullptr) {
      for (int i = thread; i < S::heads * row_chunks; i += carrier_threads) {
        const int head = i / row_chunks;
        copy_or_zero(slot + tile_bytes + tile_offset(head, i % row_chunks, S::heads), q + i * 8,
                     head < group);
      }
      q = nullptr;
    }
    barrier_arrive_after_copies(ring.full());
    ring.advance();
  }
}

template <int width, int tiles>
__device__ void carry_item(Ring<SplitShape<width, tiles>::slots>& ring, uint32_t shared,
                           const Attention& call, const Item& item) {
  const int group = static_cast<int>(call.shape.query_heads / call.shape.kv_heads);
  const bf16_bits* keys = call.kv.keys + item.start;
  const bf16_bits* values = call.kv.values + item.start;
  const bf16_bits* q = call.q + item.row * call.row_stride + item.kv_head * group * width;
  const int chunks = item.chunks();
  for (int chunk = 0; chunks > 1 && chunk < chunks; ++chunk) {
    carry_chunk<width, tiles>(ring, shared, item, chunk, keys, q, group);
    q = nullptr;
  }
  for (int chunk = 0; chunk < chunks; ++chunk) {
    carry_chunk<width, tiles>(ring, shared, item, chunk, keys, q, group);
    carry_chunk<width, tiles>(ring, shared, item, chunk, values, nullptr, group);
    q = nullptr;
  }
}

template <int width, int tiles>
__device__ void carry(const Attention& call, const SplitWork& work, const SplitPartials& partials,
                      uint32_t shared, uint32_t barriers) {
  Ring<SplitShape<width, tiles>::slots> ring{barriers};
  ItemWalk walk(call, work, partials);
  Item item;
  while (walk.next(item)) carry_item<width, tiles>(ring, shared, call, item);
}

}  // namespace orthros::cuda
