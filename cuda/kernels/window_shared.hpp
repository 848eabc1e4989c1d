// What the warps of a window attention block share: the ring of key blocks, tiles and their tasks.
#pragma once

#include <cuda.h>

#include "cuda/kernels/async_copy.hpp"
#include "cuda/layout/window_tiles.hpp"

namespace orthros::cuda::window {

inline constexpr int32_t width = 128;
inline constexpr int32_t half_width = 64;  // columns of a swizzled row
inline constexpr int32_t row_bytes = 128;
inline constexpr int32_t atom_bytes = 1024;
inline constexpr int32_t warpgroups = 3;
inline constexpr int32_t stages = 2;  // tiles in shared memory, a warpgroup
inline constexpr int32_t block_bytes = window_key_block * row_bytes;  // half a key block's width

inline constexpr int32_t ring_blocks = 15;
// Keys of the ring's first blocks stand behind its last as well, so that any three blocks in a row
// lie side by side: one product takes them.
inline constexpr int32_t blocks_at_once = 3;
inline constexpr int32_t repeated_blocks = blocks_at_once - 1;
inline constexpr int32_t key_slots = ring_blocks + repeated_blocks;
// Block n's barriers are those of number n mod 16, whatever slot it is in: a power of two above
// ring_blocks divides with less.
inline constexpr int32_t block_barriers = 16;

// Slot of the ring `ahead` blocks after `slot`, at most once around.
__device__ __forceinline__ int32_t slot_after(int32_t slot, int32_t ahead) {
  const int32_t next = slot + ahead;
  return next < ring_blocks ? next : next - ring_blocks;
}

// What a warpgroup does next. Key blocks are counted as they enter the ring.
struct alignas(16) TileTask {
  int32_t position;  // of the tile's first row
  int32_t row;       // packed row of that position, whether or not it is in the run
  int32_t head;      // KV head; -1: no more tasks
  int32_t first;     // positions [first, end) of the tile are in the run; none: nothing to do
  int32_t end;
  int32_t window;      // the first of the nine key blocks
  int32_t slot;        // its slot
  int32_t release_to;  // this warpgroup needs no key block before this one any more afterwards
  int32_t written;     // rows of the last key block that are written
};

struct alignas(1024) Shared {
  bf16_bits keys[2][key_slots][window_key_block][half_width];  // by halves of the width
  bf16_bits values[ring_blocks][2][window_key_block][half_width];
  bf16_bits queries[warpgroups][stages][2][window_tile_rows][half_width];
  TileTask tasks[warpgroups][stages];
  uint64_t block_full[block_barriers];
  uint64_t block_empty[block_barriers];
  uint64_t tile_full[warpgroups][stages];
  uint64_t tile_done[warpgroups][stages];  // its output stands where its queries were
};

struct Maps {
  CUtensorMap keys;    // boxes of half a key block's width
  CUtensorMap values;  // boxes of a key block
  CUtensorMap q;       // boxes of half the width of a tile
  CUtensorMap q_row;   // boxes of half the width of one position's query heads
  CUtensorMap out;     // likewise
  CUtensorMap out_row;
};

struct Arguments {
  const QueryRun* runs;
  int64_t run_count;
  int32_t kv_heads;
  int32_t group;
  int32_t group_log;  // 2^group_log = group
  int32_t positions;  // of a tile
  int32_t window;
  float scale;
};

__device__ __forceinline__ void init_barriers(Shared& shared) {
  for (int32_t i = 0; i < block_barriers; ++i) {
    barrier_init(&shared.block_full[i], 1);
    barrier_init(&shared.block_empty[i], 4 * warpgroups);
  }
  for (int32_t i = 0; i < warpgroups; ++i) {
    for (int32_t stage = 0; stage < stages; ++stage) {
      barrier_init(&shared.tile_full[i][stage], 1);
      barrier_init(&shared.tile_done[i][stage], 4);
    }
  }
  barrier_init_fence();
}

}  // namespace orthros::cuda::window
