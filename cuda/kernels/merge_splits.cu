// The second launch of split attention: folds the splits of each row and head in their order.
#include <algorithm>

#include "cuda/kernels/mma.hpp"
#include "cuda/kernels/settled_row.hpp"
#include "cuda/kernels/split_partials.hpp"
#include "cuda/support/launch.hpp"
#include "reference/hopper/rounding.hpp"

namespace orthros::cuda {
namespace {

constexpr int threads = 128;
constexpr int columns = 32;     // of one row's head, a block's
constexpr int each = 3;         // splits of which a thread has the maximum and the sum
constexpr int most_kept = 350;  // splits in shared memory at once, 48 KB of it
constexpr int row_bytes = columns * static_cast<int>(sizeof(float));
constexpr int row_chunks = row_bytes / 16;
static_assert(most_kept <= each * threads);

// Shared memory for each split that is kept: its factor and sum, and 32 of its values.
constexpr int kept_bytes = row_bytes + static_cast<int>(sizeof(float2));

// The largest of a value over the block.
__device__ float largest_of(float value, float* shared) {
  for (int apart = 16; apart > 0; apart /= 2) {
    value = hopper::larger(value, __shfl_xor_sync(0xffffffffu, value, apart));
  }
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  for (int warp = 0; warp < threads / 32; ++warp) value = hopper::larger(value, shared[warp]);
  return value;
}

// Grid: row and query head; width / 32. All threads bring `kept` splits at a time, with all of
// their loads in flight; the first warp folds them, a column a lane.
__global__ void __launch_bounds__(threads)
    merge_splits(Attention call, SplitWork work, GatheredPartials gathered, int kept) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ float warps[threads / 32];
  auto* parts = reinterpret_cast<float*>(memory);
  auto* weights = reinterpret_cast<float2*>(parts + kept * columns);  // a split's factor and sum
  start_dependents();
  const SplitPartials& partials = gathered.partials;
  const int64_t heads = call.shape.query_heads;
  const int64_t width = call.shape.width;
  const int64_t split_row = blockIdx.x / heads;
  const int64_t head = blockIdx.x % heads;
  const Row row = settled_row(call.rows + work.windowed_rows + split_row);
  const int64_t split_rows = work.rows - work.windowed_rows;
  const int64_t count = split_count(row.position + 1);
  const int64_t start = partial_offset(split_row, split_rows, head, partials.splits, 0);
  const int64_t column = int64_t{blockIdx.y} * columns;
  const SplitPlace* places =
      gathered.places == nullptr ? nullptr : gathered.places + row.sequence * gathered.stride;
  const int64_t rank_partials = heads * split_rows * partials.splits;
  const auto place_of = [&](int64_t split) {
    if (places == nullptr) return start + split;
    return places[split].rank * rank_partials + start + places[split].index;
  };
  wait_for_launches_before();

  const int thread = static_cast<int>(threadIdx.x);
  float largest = hopper::from_bits(0xff800000u);
  float sum = 0.0f;
  float o = 0.0f;
  for (int64_t first = 0; first < count; first += kept) {
    if (first > 0) __syncthreads();
    const int here = static_cast<int>(min(count - first, int64_t{kept}));
    float most[each];
    float sums[each];
#pragma unroll
    for (int i = 0; i < each; ++i) {
      if (thread + i * threads >= here) break;
      const int64_t place = place_of(first + thread + i * threads);
      most[i] = partials.most[place];
      sums[i] = partials.sum[place];
    }
    for (int i = thread; i < here * row_chunks; i += threads) {
      const int64_t at = column + i % row_chunks * 4;
      copy_or_zero(shared_address(parts) + i * 16,
                   partials.values + place_of(first + i / row_chunks) * width + at, at < width);
    }
    close_copy_group();
    if (first == 0) {
#pragma unroll
      for (int i = 0; i < each; ++i) {
        if (thread + i * threads < here) largest = hopper::larger(largest, most[i]);
      }
      for (int64_t s = kept + thread; s < count; s += threads) {
        largest = hopper::larger(largest, partials.most[place_of(s)]);
      }
      largest = largest_of(largest, warps);
    }
#pragma unroll
    for (int i = 0; i < each; ++i) {
      if (thread + i * threads >= here) break;
      weights[thread + i * threads] = {hopper::merge_factor(most[i], largest), sums[i]};
    }
    wait_for_copy_groups<0>();
    __syncthreads();
    if (thread >= columns) continue;
    int s = 0;
    if (first == 0) {
      sum = hopper::multiply(weights[0].x, weights[0].y);
      o = hopper::multiply(weights[0].x, parts[thread]);
      s = 1;
    }
#pragma unroll 16
    for (; s < here; ++s) {
      const float2 weight = weights[s];
      sum = hopper::fold(sum, weight.x, weight.y);
      o = hopper::fold(o, weight.x, parts[s * columns + thread]);
    }
  }
  if (thread >= columns || column + thread >= width) return;
  const float result = hopper::multiply(o, hopper::reciprocal(sum));
  call.out[(work.windowed_rows + split_row) * call.row_stride + head * width + column + thread] =
      hopper::round_bf16(result);
}

}  // namespace

void launch_merge_splits(const Attention& call, const SplitWork& work,
                         const GatheredPartials& gathered) {
  const int64_t places = (work.rows - work.windowed_rows) * call.shape.query_heads;
  if (places == 0) return;
  const int kept = static_cast<int>(std::min<int64_t>(gathered.partials.splits, most_kept));
  const auto shared = static_cast<size_t>(kept * kept_bytes);
  const dim3 grid(static_cast<unsigned>(places), blocks_for(call.shape.width, columns));
  launch(merge_splits, {grid, dim3(threads), shared}, call.stream, call, work, gathered, kept);
}

}  // namespace orthros::cuda
