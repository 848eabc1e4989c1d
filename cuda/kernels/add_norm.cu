// Residual sum and RMSNorm of rows in one pass.
#include "cuda/kernels/eight.hpp"
#include "cuda/kernels/elementwise.hpp"
#include "cuda/support/launch.hpp"
#include "reference/hopper/norm_order.hpp"

namespace orthros::cuda {
namespace {

constexpr int most_threads = 512;

// A block a row. Of T threads, thread t holds groups t, t + T, .. of 8 values, as norm_order.hpp
// deals them out; `Held` of them.
template <int Held>
__global__ void add_norm_kernel(bf16_bits* x, const bf16_bits* y, Norm norm, int64_t stride,
                                bf16_bits* n) {
  const int64_t groups = (norm.width + 7) / 8;
  const int threads = static_cast<int>(blockDim.x);
  Eight gains[Held];  // no kernel ahead writes them: on their way while it ends
#pragma unroll
  for (int j = 0; j < Held; ++j) {
    const int64_t group = threadIdx.x + int64_t{j} * threads;
    gains[j] = n != nullptr && group < groups ? Eight::load(norm.gain + group * 8) : Eight::zeros();
  }
  begin_after_previous();
  __shared__ float sums[most_threads];
  const int64_t row = blockIdx.x * stride;
  Eight values[Held];
#pragma unroll
  for (int j = 0; j < Held; ++j) {
    const int64_t group = threadIdx.x + int64_t{j} * threads;
    values[j] = Eight::zeros();
    if (group >= groups) continue;
    bf16_bits* place = x + row + group * 8;
    values[j] = Eight::load(place);
    if (y == nullptr) continue;
    const Eight other = Eight::load(y + row + group * 8);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      values[j].values[i] = hopper::round_bf16(hopper::add(hopper::widen_bf16(values[j].values[i]),
                                                           hopper::widen_bf16(other.values[i])));
    }
    values[j].store(place);
  }
  if (n == nullptr) return;
  float held[Held];
#pragma unroll
  for (int j = 0; j < Held; ++j) held[j] = hopper::group_sum(values[j].values, 0, 8);
#pragma unroll
  for (int count = Held; count > 1; count /= 2) {
#pragma unroll
    for (int j = 0; j < Held; ++j) {
      if (j < count / 2) held[j] = hopper::add(held[j], held[j + count / 2]);
    }
  }
  // Across warps column by column of the lanes, every warp for itself, then by shuffles.
  float sum = held[0];
  const int warps = threads / 32;
  if (warps > 1) {
    sums[threadIdx.x] = sum;
    __syncthreads();
    float columns[most_threads / 32];
#pragma unroll
    for (int w = 0; w < most_threads / 32; ++w) {
      columns[w] = w < warps ? sums[w * 32 + threadIdx.x % 32] : 0.0f;
    }
#pragma unroll
    for (int count = most_threads / 32; count > 1; count /= 2) {
      if (count > warps) continue;  // zeros
#pragma unroll
      for (int w = 0; w < count / 2; ++w) {
        columns[w] = hopper::add(columns[w], columns[w + count / 2]);
      }
    }
    sum = columns[0];
  }
#pragma unroll
  for (int offset = 16; offset >= 1; offset /= 2) {
    sum = hopper::add(sum, __shfl_xor_sync(0xffffffff, sum, offset));
  }
  const float inverse = hopper::inverse_root(sum, norm.width, norm.eps);
#pragma unroll
  for (int j = 0; j < Held; ++j) {
    const int64_t group = threadIdx.x + int64_t{j} * threads;
    if (group >= groups) continue;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float stored = hopper::widen_bf16(gains[j].values[i]);
      values[j].values[i] = hopper::round_bf16(
          hopper::normed(hopper::widen_bf16(values[j].values[i]), inverse,
                         norm.zero_centred ? hopper::add(1.0f, stored) : stored));
    }
    values[j].store(n + row + group * 8);
  }
}

}  // namespace

void launch_add_norm(bf16_bits* x, const bf16_bits* y, const Norm& norm, int64_t rows,
                     int64_t stride, bf16_bits* n, cudaStream_t stream) {
  if (rows == 0) return;
  const int64_t padded = hopper::padded_groups(norm.width);
  // Many rows: fewer threads each, so that more rows are in flight. Few: the shortest way.
  constexpr int64_t many_rows = 264;
  const int64_t widest = rows < many_rows ? most_threads : most_threads / 2;
  const int64_t threads = padded < 32 ? 32 : padded < widest ? padded : widest;
  const int64_t held = padded < threads ? 1 : padded / threads;
  const Grid grid{dim3(static_cast<unsigned>(rows)), dim3(static_cast<unsigned>(threads))};
  const auto with = [&]<int Held>() {
    launch(add_norm_kernel<Held>, grid, stream, x, y, norm, stride, n);
  };
  if (held <= 1) return with.template operator()<1>();
  if (held <= 2) return with.template operator()<2>();
  if (held <= 4) return with.template operator()<4>();
  with.template operator()<8>();
}

}  // namespace orthros::cuda
