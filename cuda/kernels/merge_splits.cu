// The second launch of split attention: folds the splits of each row and head in their order.
#include "cuda/kernels/mma.hpp"
#include "cuda/kernels/split_partials.hpp"
#include "cuda/support/cuda_error.hpp"
#include "reference/hopper/rounding.hpp"

namespace orthros::cuda {
namespace {

constexpr int threads = 64;   // and columns, of one row's head
constexpr int together = 32;  // splits whose loads are in flight at once
constexpr int kept = 1024;    // splits whose factors are in shared memory at once

// The largest of a value over the block.
__device__ float largest_of(float value, float* shared) {
  for (int apart = 16; apart > 0; apart /= 2) {
    value = hopper::larger(value, __shfl_xor_sync(0xffffffffu, value, apart));
  }
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  return hopper::larger(shared[0], shared[1]);
}

// Grid: row and query head; columns / 64.
__global__ void __launch_bounds__(threads)
    merge_splits(Attention call, SplitWork work, SplitPartials partials) {
  __shared__ float factors[kept];
  __shared__ float sums[kept];
  __shared__ float warps[threads / 32];
  wait_for_launches_before();
  const int64_t heads = call.shape.query_heads;
  const int64_t width = call.shape.width;
  const int64_t split_row = blockIdx.x / heads;
  const int64_t head = blockIdx.x % heads;
  const int64_t row = work.windowed_rows + split_row;
  const int64_t count = split_count(call.rows[row].position + 1);
  const int64_t start = partial_offset(split_row, heads, head, partials.splits, 0);
  const int64_t column = int64_t{blockIdx.y} * threads + threadIdx.x;
  const float* values = partials.values + start * width + column;

  float largest = hopper::from_bits(0xff800000u);
  for (int64_t s = threadIdx.x; s < count; s += threads) {
    largest = hopper::larger(largest, partials.most[start + s]);
  }
  largest = largest_of(largest, warps);

  float sum = 0.0f;
  float o = 0.0f;
  for (int64_t first = 0; first < count; first += kept) {
    const int here = static_cast<int>(count - first < kept ? count - first : kept);
    __syncthreads();
    for (int s = threadIdx.x; s < here; s += threads) {
      factors[s] = hopper::merge_factor(partials.most[start + first + s], largest);
      sums[s] = partials.sum[start + first + s];
    }
    __syncthreads();
    for (int s = 0; s < here; s += together) {
      float part[together];
#pragma unroll
      for (int i = 0; i < together; ++i) {
        part[i] = s + i < here ? values[(first + s + i) * width] : 0.0f;
      }
#pragma unroll
      for (int i = 0; i < together; ++i) {
        if (s + i >= here) break;
        const float factor = factors[s + i];
        const bool opens = first + s + i == 0;
        sum = opens ? hopper::multiply(factor, sums[0]) : hopper::fold(sum, factor, sums[s + i]);
        o = opens ? hopper::multiply(factor, part[i]) : hopper::fold(o, factor, part[i]);
      }
    }
  }
  const float result = hopper::multiply(o, hopper::reciprocal(sum));
  call.out[row * call.row_stride + head * width + column] = hopper::round_bf16(result);
}

}  // namespace

void launch_merge_splits(const Attention& call, const SplitWork& work,
                         const SplitPartials& partials) {
  const int64_t places = (work.rows - work.windowed_rows) * call.shape.query_heads;
  if (places == 0) return;
  const dim3 grid(static_cast<unsigned>(places), static_cast<unsigned>(call.shape.width / threads));
  merge_splits<<<grid, threads, 0, call.stream>>>(call, work, partials);
  ORTHROS_CUDA_LAUNCHED("merge_splits");
}

}  // namespace orthros::cuda
