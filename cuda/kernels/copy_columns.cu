// Columns of strided rows, copied. The runtime's own strided copies want one allocation behind all
// of the rows, which a sparse cache has not.
#include "cuda/kernels/elementwise.hpp"
#include "cuda/support/launch.hpp"

namespace orthros::cuda {
namespace {

constexpr int together = 4;  // 8 bytes

__global__ void copy_kernel(const bf16_bits* from, int64_t from_stride, bf16_bits* to,
                            int64_t to_stride, int64_t rows, int64_t width) {
  begin_after_previous();
  const int64_t pieces = width / together;
  const int64_t step = gridDim.x * int64_t{blockDim.x};
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < rows * pieces; i += step) {
    const int64_t row = i / pieces;
    const int64_t column = i % pieces * together;
    *reinterpret_cast<uint2*>(to + row * to_stride + column) =
        *reinterpret_cast<const uint2*>(from + row * from_stride + column);
  }
}

}  // namespace

void launch_copy_columns(const bf16_bits* from, int64_t from_stride, bf16_bits* to,
                         int64_t to_stride, int64_t rows, int64_t width, cudaStream_t stream) {
  if (rows * width == 0) return;
  launch(copy_kernel, {dim3(256), dim3(256)}, stream, from, from_stride, to, to_stride, rows,
         width);
}

}  // namespace orthros::cuda
