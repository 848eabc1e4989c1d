// Copies chosen rows of a packed tensor.
#include "cuda/kernels/eight.hpp"
#include "cuda/kernels/elementwise.hpp"
#include "cuda/support/launch.hpp"

namespace orthros::cuda {
namespace {

// A block a row, 16 bytes a thread at a time.
__global__ void gather_kernel(const bf16_bits* in, const int32_t* sources, int64_t stride,
                              bf16_bits* out) {
  begin_after_previous();
  const bf16_bits* from = in + sources[blockIdx.x] * stride;
  bf16_bits* to = out + blockIdx.x * stride;
  for (int64_t i = threadIdx.x * int64_t{8}; i < stride; i += blockDim.x * int64_t{8}) {
    Eight::load(from + i).store(to + i);
  }
}

}  // namespace

void launch_gather_rows(const bf16_bits* in, const int32_t* sources, int64_t rows, int64_t stride,
                        bf16_bits* out, cudaStream_t stream) {
  if (rows == 0) return;
  launch(gather_kernel, {dim3(static_cast<unsigned>(rows)), dim3(256)}, stream, in, sources, stride,
         out);
}

}  // namespace orthros::cuda
