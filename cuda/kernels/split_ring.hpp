// The ring of split attention: tiles of keys and values in shared memory.
#pragma once

#include <type_traits>

#include "cuda/kernels/mma.hpp"
#include "cuda/kernels/split_walk.hpp"

namespace orthros::cuda {

// Warps of a block: some bring keys and values into a ring of tiles in shared memory, the others
// work on them. An item's keys come in chunks of 512 from its first 16-key block on; a split is one
// chunk, a window may be several. Scores are the products' transposes, keys x query heads: query
// heads of the KV head are the columns, padded to 8 or 16, so that a group shares each key read, as
// do both streams' groups.
constexpr int workers = 8;  // warps
constexpr int worker_threads = 32 * workers;
constexpr int chunk_blocks = chunk_keys / 16;
constexpr int owned_blocks = chunk_blocks / workers;  // 16-key blocks of a chunk, of each worker

// tiles: column tiles, 8 query heads each. Entry: bf16_bits, or uint8_t for e4m3.
template <int width, int tiles, class Entry>
struct SplitShape {
  static constexpr bool e4m3 = std::is_same_v<Entry, uint8_t>;
  // Blocks on a multiprocessor. e4m3 entries take half the time to come and more to be worked on:
  // of two one works while the other waits for its barriers and products. Wider shapes have no
  // registers for that.
  static constexpr int blocks = e4m3 && width <= 128 && tiles == 1 ? 2 : 1;
  static constexpr int carriers = 4 / blocks;  // warps
  static constexpr int carrier_threads = 32 * carriers;
  static constexpr int threads = worker_threads + carrier_threads;
  static constexpr int most_shared = blocks == 2 ? 113 * 1024 : 227 * 1024;
  static constexpr int tile_bytes = e4m3 ? 16384 : 32768;
  static constexpr int entry_bytes = width * static_cast<int>(sizeof(Entry));
  // tile_offset's rows are 128 bytes at least.
  static constexpr int tile_keys = tile_bytes / (entry_bytes < 128 ? 128 : entry_bytes);
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
  static constexpr int barrier_bytes = 256;  // the queue of items in the last of them
  static constexpr int other_bytes =
      exact_bytes + weight_bytes + most_bytes + sum_bytes + barrier_bytes;
  static constexpr int slots = (most_shared - other_bytes) / slot_bytes;
  static constexpr int shared_bytes = slots * slot_bytes + other_bytes;
  static_assert(slots * 16 + ItemQueue::bytes <= barrier_bytes);
  // An item has a tile of keys and one of values at least.
  static_assert(slots / 2 + 2 < ItemQueue::places);
  // 16-column tiles of a worker's part of the output; workers past the width have none.
  static constexpr int row_tiles = width / 16 > workers ? width / 16 / workers : 1;
  // The channel, of 16, that a lane's row `row` of the lower or upper 8 rows of a product is. e4m3
  // entries come in pairs of channels, of which each half gets one.
  __device__ static int channel(int row, int upper) {
    return e4m3 ? 2 * row + upper : row + 8 * upper;
  }
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

}  // namespace orthros::cuda
