// Greedy choice: the largest logit of each row.
#include "cuda/kernels/elementwise.hpp"
#include "cuda/support/launch.hpp"

namespace orthros::cuda {
namespace {

constexpr int threads = 1024;

struct Best {
  float value;
  int64_t id;
};

// The larger, the lower id among equals.
__device__ Best better(const Best& a, const Best& b) {
  return b.value > a.value || (b.value == a.value && b.id < a.id) ? b : a;
}

// A block a row. NaN is never larger than anything, so it wins only from the first place, as in a
// scan from the left.
__global__ void argmax_kernel(const float* logits, int64_t vocab, int64_t stride,
                              TokenSinks sinks) {
  begin_after_previous();
  __shared__ Best warps[threads / 32];
  const int64_t row = blockIdx.x;
  const float* from = logits + row * stride;
  Best best{-INFINITY, vocab};
  for (int64_t id = threadIdx.x; id < vocab; id += threads) {
    const float value = from[id];
    if (value > best.value || (value == best.value && id < best.id)) best = {value, id};
  }
  for (int offset = 16; offset >= 1; offset /= 2) {
    best = better(best, {__shfl_xor_sync(0xffffffff, best.value, offset),
                         __shfl_xor_sync(0xffffffff, best.id, offset)});
  }
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = best;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < threads / 32; ++i) best = better(best, warps[i]);
  const float first = from[0];
  const int32_t token = first != first || best.id == vocab ? 0 : static_cast<int32_t>(best.id);
  sinks.tokens[row] = token;
  if (sinks.entering != nullptr && sinks.entering_rows[row] >= 0) {
    sinks.entering[sinks.entering_rows[row]] = token;
  }
  if (sinks.copies != nullptr) sinks.copies[row] = token;
  if (sinks.history != nullptr) sinks.history[*sinks.step * int64_t{gridDim.x} + row] = token;
}

}  // namespace

void launch_argmax(const float* logits, int64_t rows, int64_t vocab, int64_t stride,
                   const TokenSinks& sinks, cudaStream_t stream) {
  if (rows == 0) return;
  launch(argmax_kernel, {dim3(static_cast<unsigned>(rows)), dim3(threads)}, stream, logits, vocab,
         stride, sinks);
}

}  // namespace orthros::cuda
