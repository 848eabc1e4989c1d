// wide_product's tiles: which outputs of which rows a cluster works on, and in what order. Index
// arithmetic only, for host and device.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define ORTHROS_WIDE __host__ __device__
#else
#define ORTHROS_WIDE
#endif

namespace orthros::cuda {

// A warpgroup multiplies 128 rows of x by 192 rows of W, 64 of k at a time. The blocks of a cluster
// have rows one after the other, and the same outputs.
inline constexpr int32_t wide_rows = 128;
inline constexpr int32_t wide_outputs = 192;
inline constexpr int32_t wide_depth = 64;
inline constexpr int32_t wide_cluster = 2;
inline constexpr int32_t wide_band = 2;

struct WideTile {
  int32_t row;     // of `wide_cluster` blocks' rows
  int32_t output;  // of wide_outputs outputs
};

// Tiles in bands of `band` rows of tiles, each walked output by output, so that a band's x stays in
// L2 while W goes by.
struct WideTiles {
  int32_t rows;     // tiles
  int32_t outputs;  // tiles
  int32_t band;

  ORTHROS_WIDE constexpr int32_t count() const { return rows * outputs; }
  ORTHROS_WIDE constexpr WideTile at(int32_t index) const {
    const int32_t first = index / (band * outputs) * band;
    const int32_t height = rows - first < band ? rows - first : band;
    const int32_t within = index - first * outputs;
    return {first + within % height, within / height};
  }
};

constexpr WideTiles wide_tiles(int64_t rows, int64_t outputs, int32_t band) {
  constexpr int64_t cluster_rows = wide_cluster * wide_rows;
  return {static_cast<int32_t>((rows + cluster_rows - 1) / cluster_rows),
          static_cast<int32_t>((outputs + wide_outputs - 1) / wide_outputs), band};
}

}  // namespace orthros::cuda
