// e4m3 entries in split attention: widened in registers on their way to the tensor cores.
#pragma once

#include "cuda/kernels/split_ring.hpp"
#include "reference/hopper/e4m3.hpp"

namespace orthros::cuda {

// Twice the factor that widens entries of a scale (entry_factor), of KvView::exponents' place
// `place`; nothing that is used for bf16 entries.
template <class Entry>
__device__ uint32_t factor_of(const Attention& call, int64_t place) {
  if constexpr (std::is_same_v<Entry, uint8_t>) {
    return uint32_t{hopper::entry_factor(call.kv.exponents[place])} * 0x10001u;
  } else {
    return 0;
  }
}

// widen_e4m3 of four entries: those in bytes 0 and 2 as a pair, those in 1 and 3 as another.
__device__ inline void widen_four(uint32_t four, uint32_t factor, uint32_t& even, uint32_t& odd) {
  even = (four << 4 & 0x07f007f0u) | (four << 8 & 0x80008000u);
  odd = (four >> 4 & 0x07f007f0u) | (four & 0x80008000u);
  asm("mul.rn.bf16x2 %0, %0, %1;" : "+r"(even) : "r"(factor));
  asm("mul.rn.bf16x2 %0, %0, %1;" : "+r"(odd) : "r"(factor));
}

// Weights times e4m3 values of two 16-key blocks of a tile, the second where it is before `end`,
// onto o. weights: shared address of the tile's in their first column tile.
template <int width, int tiles, class Entry>
__device__ __forceinline__ void weigh_entries(
    uint32_t slot, int block, int end, uint32_t weights, uint32_t factor,
    float (&o)[SplitShape<width, tiles, Entry>::row_tiles][tiles][4]) {
  using S = SplitShape<width, tiles, Entry>;
  const int lane = threadIdx.x % 32;
  const int worker = threadIdx.x / 32;
  uint32_t p[tiles][4];
#pragma unroll
  for (int n = 0; n < tiles; ++n) {
    load_matrices_transposed(p[n], weights + (n * chunk_keys + block * 16 + lane) * 16);
  }
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
}

}  // namespace orthros::cuda
