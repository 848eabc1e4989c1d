// Eight bf16 values: what a thread moves at once.
#pragma once

#include <cuda_runtime.h>

#include "cuda/layout/rows.hpp"
#include "reference/hopper/portable.hpp"

namespace orthros::cuda {

union Eight {
  uint4 vector;
  bf16_bits values[8];

  __device__ static Eight load(const bf16_bits* from) {
    Eight eight;
    eight.vector = *reinterpret_cast<const uint4*>(from);
    return eight;
  }
  __device__ static Eight zeros() {
    Eight eight;
    eight.vector = {0, 0, 0, 0};
    return eight;
  }
  // From memory that no kernel writes while this one runs.
  __device__ static Eight load_constant(const bf16_bits* from) {
    Eight eight;
    eight.vector = __ldg(reinterpret_cast<const uint4*>(from));
    return eight;
  }
  // hopper::round_bf16 of each, two at once.
  __device__ static Eight rounded(const float (&from)[8]) {
    Eight eight;
    eight.vector = {round_two(from[0], from[1]), round_two(from[2], from[3]),
                    round_two(from[4], from[5]), round_two(from[6], from[7])};
    return eight;
  }
  __device__ void store(bf16_bits* to) const { *reinterpret_cast<uint4*>(to) = vector; }
  // hopper::widen_bf16 of each.
  __device__ void widen(float (&to)[8]) const {
    const uint32_t twos[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      to[2 * i] = hopper::from_bits(twos[i] << 16);
      to[2 * i + 1] = hopper::from_bits(twos[i] & 0xffff0000u);
    }
  }

 private:
  __device__ static uint32_t round_two(float low, float high) {
    uint32_t two;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(high), "f"(low));
    return two;
  }
};

}  // namespace orthros::cuda
