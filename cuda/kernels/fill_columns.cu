// Columns of strided rows: filled with one value.
#include "cuda/kernels/elementwise.hpp"
#include "cuda/support/launch.hpp"

namespace orthros::cuda {
namespace {

__global__ void fill_kernel(bf16_bits* data, int64_t rows, int64_t width, int64_t stride,
                            bf16_bits value) {
  begin_after_previous();
  const int64_t step = gridDim.x * int64_t{blockDim.x};
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < rows * width; i += step) {
    data[i / width * stride + i % width] = value;
  }
}

}  // namespace

void launch_fill_columns(bf16_bits* data, int64_t rows, int64_t width, int64_t stride,
                         bf16_bits value, cudaStream_t stream) {
  if (rows * width == 0) return;
  launch(fill_kernel, {dim3(1024), dim3(256)}, stream, data, rows, width, stride, value);
}

}  // namespace orthros::cuda
