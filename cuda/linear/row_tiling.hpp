// How row_product spreads a product over blocks: plain arithmetic, no device needed.
#pragma once

#include <algorithm>
#include <cstdint>

namespace orthros::cuda {

inline constexpr int64_t row_warps_most = 6;         // warps of 16 outputs in a block
inline constexpr int64_t row_depth_most = 48;        // boxes in flight
inline constexpr int64_t row_tiles_most = 8;         // tiles of 8 rows of x in a block
inline constexpr int64_t row_box_columns = 64;       // of k in a box: 128 bytes
inline constexpr int64_t row_box_bytes = 2048;       // 16 outputs x 64
inline constexpr int64_t row_tile_bytes = 1024;      // 8 rows x 64
inline constexpr int64_t row_ring_alignment = 1024;  // a swizzle's period
// Shared memory of a block, of a multiprocessor's 228 KiB: where each multiprocessor has one block,
// and where it has two or more. The next kernel's blocks come early; with room for a block beside
// its share, several of them would meet on the multiprocessor that drains first. More than this for
// a lone block would only keep x waiting: it is copied after the W that fills the ring.
inline constexpr int64_t row_lone_bytes = 130 << 10;
inline constexpr int64_t row_shared_bytes = 112 << 10;
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
  const int64_t shared =
      tiling.output_blocks(out) <= processors ? row_lone_bytes : row_shared_bytes;
  const int64_t ring = shared - row_ring_alignment - row_barrier_bytes;
  const int64_t boxes = (in + row_box_columns - 1) / row_box_columns;
  tiling.depth = std::min({ring / tiling.stage_bytes(), row_depth_most, boxes});
  return tiling;
}

}  // namespace orthros::cuda
