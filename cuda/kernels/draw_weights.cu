// Random weights, bit for bit those that the reference draws.
#include "cuda/kernels/weights.hpp"
#include "cuda/support/launch.hpp"
#include "reference/weights/bfloat16.hpp"

namespace orthros::cuda {
namespace {

__global__ void draw_kernel(CounterRandom random, double mean, double deviation, WeightRows to,
                            bf16_bits* memory) {
  begin_after_previous();
  const int64_t step = gridDim.x * int64_t{blockDim.x};
  const int64_t count = to.rows * to.width;
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count; i += step) {
    // As the host computes it: a product and a sum, each rounded.
    const double value =
        __dadd_rn(mean, __dmul_rn(deviation, random.normal(static_cast<uint64_t>(i))));
    memory[weight_place(to, i)] = bfloat16(value).bits();
  }
}

}  // namespace

void launch_draw_weights(const CounterRandom& random, double mean, double deviation,
                         const WeightRows& to, bf16_bits* memory, cudaStream_t stream) {
  launch(draw_kernel, {dim3(2048), dim3(256)}, stream, random, mean, deviation, to, memory);
}

}  // namespace orthros::cuda
