// Embedding rows by token id.
#include "cuda/kernels/eight.hpp"
#include "cuda/kernels/elementwise.hpp"
#include "cuda/support/launch.hpp"

namespace orthros::cuda {
namespace {

// The first kernel of a pass. A block a row; width is a multiple of 8, so rows move 16 bytes at a
// time.
__global__ void embedding_kernel(const bf16_bits* embedding, const int32_t* tokens, int64_t width,
                                 bf16_bits* x, int64_t stride) {
  begin_pass();
  const int64_t row = blockIdx.x;
  const bf16_bits* from = embedding + tokens[row] * stride;
  bf16_bits* to = x + row * stride;
  for (int64_t i = threadIdx.x * int64_t{8}; i < width; i += blockDim.x * int64_t{8}) {
    Eight::load(from + i).store(to + i);
  }
}

}  // namespace

void launch_embedding(const bf16_bits* embedding, const int32_t* tokens, int64_t rows,
                      int64_t width, bf16_bits* x, int64_t stride, cudaStream_t stream) {
  if (rows == 0) return;
  launch(embedding_kernel, {dim3(static_cast<unsigned>(rows)), dim3(256)}, stream, embedding,
         tokens, width, x, stride);
}

}  // namespace orthros::cuda
