// Split attention's weights times values out of its ring.
#pragma once

#include "cuda/kernels/split_scores.hpp"

namespace orthros::cuda {

// Where the columns of one stream begin to count within a chunk, while the other's count before: at
// a block, if at all, and in which of a lane's two columns of each tile.
struct LaterColumns {
  int block = -1;
  bool later[2] = {false, false};
};

// Weights times values for a tile's blocks [from, end), onto o. weights: of block 0.
template <int width, int tiles, class Entry>
__device__ void weigh_blocks(uint32_t slot, uint32_t weights, uint32_t factor, int from, int end,
                             float (&o)[SplitShape<width, tiles, Entry>::row_tiles][tiles][4]) {
  using S = SplitShape<width, tiles, Entry>;
  const int lane = threadIdx.x % 32;
  const int worker = threadIdx.x / 32;
#pragma unroll 2
  for (int block = from; block < end; block += 2) {
    uint32_t p[tiles][4];  // of two blocks; behind the last one nothing that counts
#pragma unroll
    for (int n = 0; n < tiles; ++n) {
      load_matrices_transposed(p[n], weights + ((n * chunk_keys) + block * 16 + lane) * 16);
    }
    if constexpr (S::e4m3) {
#pragma unroll
      for (int m = 0; m < S::row_tiles; ++m) {
        uint32_t fours[4];  // keys 8 i .. 8 i + 7 of the two blocks
        load_matrices_transposed(
            fours, slot + tile_offset(block * 16 + lane, worker * S::row_tiles + m, S::tile_keys));
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          if (block + half >= end) break;
          uint32_t values[4];
          widen_four(fours[2 * half], factor, values[0], values[1]);
          widen_four(fours[2 * half + 1], factor, values[2], values[3]);
#pragma unroll
          for (int n = 0; n < tiles; ++n) {
            step_16x8(o[m][n], values, p[n][2 * half], p[n][2 * half + 1]);
          }
        }
      }
    } else {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if (block + half >= end) break;
        const int row = (block + half) * 16 + lane % 8 + lane / 16 * 8;
#pragma unroll
        for (int m = 0; m < S::row_tiles; ++m) {
          uint32_t values[4];
          load_matrices_transposed(
              values, slot + tile_offset(row, 2 * (worker * S::row_tiles + m) + lane / 8 % 2,
                                         S::tile_keys));
#pragma unroll
          for (int n = 0; n < tiles; ++n) {
            step_16x8(o[m][n], values, p[n][2 * half], p[n][2 * half + 1]);
          }
        }
      }
    }
  }
}

// Weights times values for a chunk, onto o: chains over its blocks in order. Rows of o are channels
// SplitShape::channel. factor: factor_of the values. Chains of later columns begin anew at their
// first block: until there they have weights +0, which an infinity or NaN among the values, which
// those columns do not see, would turn into NaN.
template <int width, int tiles, class Entry>
__device__ void weigh_chunk(Ring<SplitShape<width, tiles, Entry>::slots>& ring, uint32_t shared,
                            uint32_t weights, uint32_t factor, int blocks,
                            const LaterColumns& columns,
                            float (&o)[SplitShape<width, tiles, Entry>::row_tiles][tiles][4]) {
  using S = SplitShape<width, tiles, Entry>;
  const int worker = threadIdx.x / 32;
  for (int begin = 0; begin < blocks; begin += S::tile_blocks) {
    const uint32_t slot = shared + ring.slot * S::slot_bytes;
    barrier_wait(ring.full(), ring.parity);
    const int here = worker * 16 < width ? min(blocks - begin, S::tile_blocks) : 0;
    const uint32_t tile_weights = weights + begin * 256;
    const int anew = tiles == 1 ? columns.block - begin : -1;
    for (int from = 0; from < here;) {
      const int end = from < anew && anew < here ? anew : here;
      if (from == anew) {
#pragma unroll
        for (int m = 0; m < S::row_tiles; ++m) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            if (columns.later[e % 2]) o[m][0][e] = 0.0f;
          }
        }
      }
      if (end - from == S::tile_blocks) {
        weigh_blocks<width, tiles, Entry>(slot, tile_weights, factor, 0, S::tile_blocks, o);
      } else {
        weigh_blocks<width, tiles, Entry>(slot, tile_weights, factor, from, end, o);
      }
      from = end;
    }
    __syncwarp();
    if (threadIdx.x % 32 == 0) barrier_arrive(ring.empty());
    ring.advance();
  }
}

}  // namespace orthros::cuda
