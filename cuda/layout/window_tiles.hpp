// Window attention's tiles: which queries form one, which keys it sees, which block works on it.
// Index arithmetic only, for host and device.
#pragma once

#include <cstdint>

#include "cuda/layout/rows.hpp"

#ifdef __CUDACC__
#define ORTHROS_TILES __host__ __device__
#else
#define ORTHROS_TILES
#endif

namespace orthros::cuda {

// A tile: the queries of one KV head at consecutive positions, at most 64 rows, position by
// position. Tiles lie at absolute multiples of their length and never cross a key block, so that
// every position of one sees only the nine key blocks that end with its own.
inline constexpr int32_t window_key_block = 16;
inline constexpr int32_t window_blocks = 9;
inline constexpr int32_t most_window = (window_blocks - 1) * window_key_block;
inline constexpr int32_t window_tile_rows = 64;

ORTHROS_TILES constexpr int32_t window_tile_positions(int64_t group) {
  const int64_t fitting = window_tile_rows / group;
  return static_cast<int32_t>(fitting < window_key_block ? fitting : window_key_block);
}

// Key block of a tile's positions.
ORTHROS_TILES constexpr int32_t key_block_of(int64_t tile, int32_t positions) {
  return static_cast<int32_t>(tile * positions / window_key_block);
}

// Tiles [first, end) hold a run; those at its ends may reach beyond it.
struct TileRange {
  int64_t first;
  int64_t end;

  ORTHROS_TILES constexpr int64_t size() const { return end - first; }
};
ORTHROS_TILES constexpr TileRange tiles_of(const QueryRun& run, int32_t positions) {
  const int64_t first = run.position / positions;
  if (run.count <= 0) return {first, first};
  return {first, (run.position + run.count - 1) / positions + 1};
}

// All tiles in order of run, head, position; block `part` of `parts` takes a contiguous share.
ORTHROS_TILES constexpr TileRange share_of(int64_t tiles, int64_t part, int64_t parts) {
  return {tiles * part / parts, tiles * (part + 1) / parts};
}

// Tiles [tiles.first, tiles.end) of one run and KV head.
struct TileSegment {
  int64_t run;
  int32_t head;
  TileRange tiles;
};

// Splits a share into segments.
class SegmentWalk {
 public:
  // `start` counts the tiles of all runs before `run`, where the share begins or before it.
  ORTHROS_TILES SegmentWalk(const QueryRun* runs, int32_t heads, int32_t positions, TileRange share,
                            int64_t run = 0, int64_t start = 0)
      : runs_(runs),
        heads_(heads),
        positions_(positions),
        share_(share),
        run_(run),
        start_(start) {}

  // False at the end.
  ORTHROS_TILES bool next(TileSegment& segment) {
    if (share_.first >= share_.end) return false;
    TileRange tiles = tiles_of(runs_[run_], positions_);
    while (share_.first - start_ >= tiles.size() * heads_) {
      start_ += tiles.size() * heads_;
      tiles = tiles_of(runs_[++run_], positions_);
    }
    const int64_t inside = share_.first - start_;
    const int64_t head = inside / tiles.size();
    const int64_t first = tiles.first + inside - head * tiles.size();
    const int64_t left = share_.end - share_.first;
    const int64_t end = left < tiles.end - first ? first + left : tiles.end;
    segment = {run_, static_cast<int32_t>(head), {first, end}};
    share_.first += end - first;
    return true;
  }

 private:
  const QueryRun* runs_;
  int32_t heads_;
  int32_t positions_;
  TileRange share_;
  int64_t run_;
  int64_t start_;
};

// The part of a tile that is in its run: its positions [first, end), counted from the tile's own
// `position`; the run's are [begin, end).
struct TilePart {
  int32_t first;
  int32_t end;
};
ORTHROS_TILES constexpr TilePart part_in_run(int32_t position, int32_t positions, int32_t begin,
                                             int32_t end) {
  return {begin > position ? begin - position : 0,
          end - position < positions ? end - position : positions};
}

}  // namespace orthros::cuda

#undef ORTHROS_TILES
