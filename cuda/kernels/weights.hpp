// Kernels that lay weights out in device memory, or draw them.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/layout/rows.hpp"
#include "reference/weights/counter_random.hpp"

namespace orthros::cuda {

// Where the rows of a tensor stand: row r of `width` values at offset + place(r) * stride, with
// place(r) = r, or 16 (r / 8) + r mod 8 where rows are interleaved with another tensor's by 8.
struct WeightRows {
  int64_t offset;
  int64_t rows;
  int64_t width;
  int64_t stride;
  bool interleaved;
};

#ifdef __CUDACC__
__device__ inline int64_t weight_place(const WeightRows& to, int64_t element) {
  const int64_t row = element / to.width;
  const int64_t place = to.interleaved ? row / 8 * 16 + row % 8 : row;
  return to.offset + place * to.stride + element % to.width;
}
#endif

// memory[place of element first + i] = dense[i], i < count: device to device.
void launch_place_weights(const bf16_bits* dense, int64_t first, int64_t count,
                          const WeightRows& to, bf16_bits* memory, cudaStream_t stream);
// The way back.
void launch_take_weights(const bf16_bits* memory, const WeightRows& from, int64_t first,
                         int64_t count, bf16_bits* dense, cudaStream_t stream);
// Every element as RandomWeights draws it: bf16(mean + deviation random.normal(i)).
void launch_draw_weights(const CounterRandom& random, double mean, double deviation,
                         const WeightRows& to, bf16_bits* memory, cudaStream_t stream);

}  // namespace orthros::cuda
