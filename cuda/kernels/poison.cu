// NaN over rows, so that a test sees what is read without having been written.
#include "cuda/kernels/elementwise.hpp"
#include "cuda/support/launch.hpp"

namespace orthros::cuda {
namespace {

__global__ void poison_kernel(bf16_bits* data, int64_t rows, int64_t width, int64_t stride) {
  begin_after_previous();
  const int64_t step = gridDim.x * int64_t{blockDim.x};
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < rows * width; i += step) {
    data[i / width * stride + i % width] = 0x7fff;
  }
}

}  // namespace

void launch_poison(bf16_bits* data, int64_t rows, int64_t width, int64_t stride,
                   cudaStream_t stream) {
  if (rows * width == 0) return;
  launch(poison_kernel, {dim3(1024), dim3(256)}, stream, data, rows, width, stride);
}

}  // namespace orthros::cuda
