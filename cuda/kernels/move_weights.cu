// Between a tensor's own layout and its place in device memory.
#include "cuda/kernels/weights.hpp"
#include "cuda/support/launch.hpp"

namespace orthros::cuda {
namespace {

// `out`: from the dense piece to its place; otherwise back.
template <bool Out>
__global__ void move_kernel(const bf16_bits* from, int64_t first, int64_t count, WeightRows rows,
                            bf16_bits* to) {
  begin_after_previous();
  const int64_t step = gridDim.x * int64_t{blockDim.x};
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count; i += step) {
    const int64_t place = weight_place(rows, first + i);
    if (Out) {
      to[place] = from[i];
    } else {
      to[i] = from[place];
    }
  }
}

}  // namespace

void launch_place_weights(const bf16_bits* dense, int64_t first, int64_t count,
                          const WeightRows& to, bf16_bits* memory, cudaStream_t stream) {
  launch(move_kernel<true>, {dim3(1024), dim3(256)}, stream, dense, first, count, to, memory);
}

void launch_take_weights(const bf16_bits* memory, const WeightRows& from, int64_t first,
                         int64_t count, bf16_bits* dense, cudaStream_t stream) {
  launch(move_kernel<false>, {dim3(1024), dim3(256)}, stream, memory, first, count, from, dense);
}

}  // namespace orthros::cuda
