// The end of a decode step: positions and written lengths go one on.
#include "cuda/kernels/elementwise.hpp"
#include "cuda/support/launch.hpp"

namespace orthros::cuda {
namespace {

__global__ void advance_kernel(Row* rows, Row* attention_rows, int64_t count, int64_t base_rows,
                               int64_t* written, int32_t* step) {
  begin_after_previous();
  const int64_t row = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (row == 0) ++*step;
  if (row >= count) return;
  ++rows[row].position;
  ++attention_rows[row].position;
  if (row < base_rows) ++written[rows[row].sequence];
}

}  // namespace

void launch_advance(Row* rows, Row* attention_rows, int64_t count, int64_t base_rows,
                    int64_t* written, int32_t* step, cudaStream_t stream) {
  launch(advance_kernel, {dim3(blocks_for(count, 256)), dim3(256)}, stream, rows, attention_rows,
         count, base_rows, written, step);
}

}  // namespace orthros::cuda
