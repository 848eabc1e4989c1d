// Split attention's scores out of its ring, of bf16 entries and of e4m3 ones, which are widened in
// registers on their way to the tensor cores.
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

// The item's queries as operands of step_16x8, from where they came with the first tile. Within a
// step the order of its 16 channels does not matter, but is the keys': lane t of four e4m3 entries
// has channels 4 t and 4 t + 2 in place of 2 t and 2 t + 1, and 4 t + 1 and 4 t + 3 in place of
// those + 8, as widen_four leaves them.
template <int width, int tiles, class Entry>
__device__ void load_queries(uint32_t queries, uint32_t (&q)[tiles][width / 16][2]) {
  using S = SplitShape<width, tiles, Entry>;
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int n = 0; n < tiles; ++n) {
#pragma unroll
    for (int k = 0; k < width / 16; k += 2) {
      if constexpr (S::e4m3) {
#pragma unroll
        for (int i = k; i < k + 2; ++i) {
          uint32_t first;
          uint32_t second;
          asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                       : "=r"(first), "=r"(second)
                       : "r"(queries + lane % 2 * 8 +
                             tile_offset(8 * n + lane / 4, 2 * i + lane % 4 / 2, S::heads))
                       : "memory");
          q[n][i][0] = __byte_perm(first, second, 0x5410);
          q[n][i][1] = __byte_perm(first, second, 0x7632);
        }
      } else {
        uint32_t pair[4];
        load_matrices(pair, queries + tile_offset(8 * n + lane % 8, 2 * k + lane / 8, S::heads));
        q[n][k][0] = pair[0];
        q[n][k][1] = pair[1];
        q[n][k + 1][0] = pair[2];
        q[n][k + 1][1] = pair[3];
      }
    }
  }
}

// Scores of the worker's blocks of a chunk: block worker + 8 i in scores[i]. Blocks that the item
// does not have stay as they are. factor: factor_of the keys.
template <int width, int tiles, class Entry>
__device__ void score_chunk(Ring<SplitShape<width, tiles, Entry>::slots>& ring, uint32_t shared,
                            const Item& item, int chunk, uint32_t factor,
                            uint32_t (&q)[tiles][width / 16][2], bool load_q,
                            float (&scores)[owned_blocks][tiles][4]) {
  using S = SplitShape<width, tiles, Entry>;
  const int lane = threadIdx.x % 32;
  const int worker = threadIdx.x / 32;
  const int blocks = item.blocks(chunk);
#pragma unroll
  for (int tile = 0; tile < S::chunk_tiles; ++tile) {
    if (tile * S::tile_blocks >= blocks) break;
    const uint32_t slot = shared + ring.slot * S::slot_bytes;
    barrier_wait(ring.full(), ring.parity);
    if (tile == 0 && load_q) load_queries<width, tiles, Entry>(slot + S::tile_bytes, q);
#pragma unroll
    for (int i = 0; i < owned_blocks; ++i) {
      const int block = worker + workers * i;
      if (workers * i >= (tile + 1) * S::tile_blocks ||
          workers * (i + 1) <= tile * S::tile_blocks) {
        continue;  // known when compiled
      }
      if (block / S::tile_blocks != tile || block >= blocks) continue;
      const int row = block % S::tile_blocks * 16 + lane % 16;
#pragma unroll
      for (int n = 0; n < tiles; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) scores[i][n][e] = 0.0f;
      }
      if constexpr (S::e4m3) {
#pragma unroll
        for (int k = 0; k < width / 16; k += 2) {
          uint32_t fours[4];  // 16 keys, channels 16 k .. 16 k + 31
          load_matrices(fours, slot + tile_offset(row, k + lane / 16, S::tile_keys));
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            uint32_t keys[4];
            widen_four(fours[2 * half], factor, keys[0], keys[2]);
            widen_four(fours[2 * half + 1], factor, keys[1], keys[3]);
#pragma unroll
            for (int n = 0; n < tiles; ++n) {
              step_16x8(scores[i][n], keys, q[n][k + half][0], q[n][k + half][1]);
            }
          }
        }
      } else {
#pragma unroll
        for (int k = 0; k < width / 16; ++k) {
          uint32_t keys[4];
          load_matrices(keys, slot + tile_offset(row, 2 * k + lane / 16, S::tile_keys));
#pragma unroll
          for (int n = 0; n < tiles; ++n) step_16x8(scores[i][n], keys, q[n][k][0], q[n][k][1]);
        }
      }
    }
    __syncwarp();
    if (lane == 0) barrier_arrive(ring.empty());
    ring.advance();
  }
}

}  // namespace orthros::cuda
