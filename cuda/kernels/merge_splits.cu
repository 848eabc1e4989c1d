// The second launch of split attention: folds the splits of each row and head in their order.
#include <algorithm>

#include "cuda/kernels/mma.hpp"
#include "cuda/kernels/split_partials.hpp"
#include "cuda/support/launch.hpp"
#include "reference/hopper/rounding.hpp"

namespace orthros::cuda {
namespace {

constexpr int threads = 128;
constexpr int columns = 32;     // of one row's head, a block's
constexpr int most_kept = 256;  // splits in shared memory at once
constexpr int row_bytes = columns * static_cast<int>(sizeof(float));
constexpr int row_chunks = row_bytes / 16;

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
  extern __shared__ __align__(16) unsigned char memory[];  // [kept][32], two of [kept]
  __shared__ float warps[threads / 32];
  auto* parts = reinterpret_cast<float*>(memory);
  float* factors = parts + kept * columns;
  float* sums = factors + kept;
  wait_for_launches_before();
  start_dependents();
  const SplitPartials& partials = gathered.partials;
  const int64_t heads = call.shape.query_heads;
  const int64_t width = call.shape.width;
  const int64_t split_row = blockIdx.x / heads;
  const int64_t head = blockIdx.x % heads;
  const Row row = call.rows[work.windowed_rows + split_row];
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
  const auto bring = [&](int64_t first) {
    const int here = static_cast<int>(min(count - first, int64_t{kept}));
    for (int i = threadIdx.x; i < here * row_chunks; i += threads) {
      const int64_t at = column + i % row_chunks * 4;
      copy_or_zero(shared_address(parts) + i * 16,
                   partials.values + place_of(first + i / row_chunks) * width + at, at < width);
    }
    close_copy_group();
    return here;
  };

  int here = bring(0);
  float largest = hopper::from_bits(0xff800000u);
  for (int64_t s = threadIdx.x; s < count; s += threads) {
    largest = hopper::larger(largest, partials.most[place_of(s)]);
  }
  largest = largest_of(largest, warps);

  const int lane = threadIdx.x;
  float sum = 0.0f;
  float o = 0.0f;
  for (int64_t first = 0; first < count; first += kept) {
    if (first > 0) {
      __syncthreads();
      here = bring(first);
    }
    for (int s = threadIdx.x; s < here; s += threads) {
      const int64_t place = place_of(first + s);
      factors[s] = hopper::merge_factor(partials.most[place], largest);
      sums[s] = partials.sum[place];
    }
    wait_for_copy_groups<0>();
    __syncthreads();
    if (threadIdx.x >= columns) continue;
    int s = 0;
    if (first == 0) {
      sum = hopper::multiply(factors[0], sums[0]);
      o = hopper::multiply(factors[0], parts[lane]);
      s = 1;
    }
#pragma unroll 8
    for (; s < here; ++s) {
      sum = hopper::fold(sum, factors[s], sums[s]);
      o = hopper::fold(o, factors[s], parts[s * columns + lane]);
    }
  }
  if (threadIdx.x >= columns || column + lane >= width) return;
  const float result = hopper::multiply(o, hopper::reciprocal(sum));
  call.out[(work.windowed_rows + split_row) * call.row_stride + head * width + column + lane] =
      hopper::round_bf16(result);
}

}  // namespace

void launch_merge_splits(const Attention& call, const SplitWork& work,
                         const GatheredPartials& gathered) {
  const int64_t places = (work.rows - work.windowed_rows) * call.shape.query_heads;
  if (places == 0) return;
  const int kept = static_cast<int>(std::min<int64_t>(gathered.partials.splits, most_kept));
  const size_t shared = static_cast<size_t>(kept) * (row_bytes + 2 * sizeof(float));
  const dim3 grid(static_cast<unsigned>(places), blocks_for(call.shape.width, columns));
  launch(merge_splits, {grid, dim3(threads), shared}, call.stream, call, work, gathered, kept);
}

}  // namespace orthros::cuda
