// Eight bf16 values: what a thread moves at once.
#pragma once

#include <cuda_runtime.h>

#include "cuda/layout/rows.hpp"

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
  __device__ void store(bf16_bits* to) const { *reinterpret_cast<uint4*>(to) = vector; }
};

}  // namespace orthros::cuda
