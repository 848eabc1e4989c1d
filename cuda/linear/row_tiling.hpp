// How row_product spreads a product over blocks: plain arithmetic, no device needed.
#pragma once

#include <algorithm>
#include <cstdint>

namespace orthros::cuda {

inline constexpr int64_t row_warps_most = 6;            // warps of 16 outputs in a block
inline constexpr int64_t row_depth_most = 48;           // boxes in flight
inline constexpr int64_t row_tiles_most = 8;            // tiles of 8 rows of x in a block
inline constexpr int64_t row_box_columns = 64;          // of k in a box: 128 bytes
inline constexpr int64_t row_box_bytes = 2048;          // 16 outputs x 64
inline constexpr int64_t row_tile_bytes = 1024;         // 8 rows x 64
inline constexpr int64_t row_ring_alignment = 1024;     // a swizzle's period
inline constexpr int64_t row_shared_bytes = 226 << 10;  // of a multiprocessor's 228 KiB
inline constexpr int64_t row_barrier_bytes = 16 * row_depth_most;

struct RowTiling {
  int64_t tiles;  // tiles of 8 rows that a block multiplies: 1, 2, 4 or 8
  int64_t warps;  // each has 16 outputs
  int64_t depth;  // boxes that a block's ring holds

  int64_t stage_bytes() const { return warps * row_box_bytes + tiles * row_tile_bytes; }
  int64_t output_blocks(int64_t out) const { return (out + 16 * warps - 1) / (16 * warps); }
  int64_t row_blocks(int64_t rows) const { return (rows + 8 * tiles - 1) / (8 * tiles); }
};

// Blocks are made as wide as the balance among `processors` allows, since each reads all of x.
// Their rings fill shared memory when a multiprocessor has its share of blocks, so that the next
// kernel's blocks, which come early, spread evenly too: with room to spare, several meet on the
// first multiprocessor that drains.
inline RowTiling row_tiling(int64_t out, int64_t in, int64_t rows, int64_t processors) {
  RowTiling tiling{};
  tiling.tiles = rows <= 8 ? 1 : rows <= 16 ? 2 : rows <= 32 ? 4 : row_tiles_most;
  const int64_t groups = (out + 15) / 16;
  const auto per_processor = [&](int64_t warps) {
    const int64_t blocks = (groups + warps - 1) / warps;
    return (blocks + processors - 1) / processors * warps;
  };
  tiling.warps = 1;
  for (int64_t warps = 2; warps <= row_warps_most; ++warps) {
    if (per_processor(warps) <= per_processor(tiling.warps)) tiling.warps = warps;
  }
  const int64_t blocks = tiling.output_blocks(out);
  const int64_t resident = std::min<int64_t>((blocks + processors - 1) / processors, 2);
  // The system takes 1 KiB of each block's.
  const int64_t ring = row_shared_bytes / resident - 1024 - row_ring_alignment - row_barrier_bytes;
  const int64_t boxes = (in + row_box_columns - 1) / row_box_columns;
  tiling.depth = std::min({ring / tiling.stage_bytes(), row_depth_most, boxes});
  return tiling;
}

}  // namespace orthros::cuda
