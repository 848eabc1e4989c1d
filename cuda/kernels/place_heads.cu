// qk-norm, scale-offset and RoPE of projected heads; queries to their buffer, keys and values to
// the cache.
#include "cuda/kernels/elementwise.hpp"
#include "cuda/support/launch.hpp"
#include "reference/hopper/norm_order.hpp"
#include "reference/hopper/pointwise.hpp"

namespace orthros::cuda {
namespace {

constexpr int threads = 256;

union Eight {
  uint4 vector;
  bf16_bits values[8];
};

__device__ Eight load(const bf16_bits* from) {
  Eight eight;
  eight.vector = *reinterpret_cast<const uint4*>(from);
  return eight;
}

// A head's values as its lanes hold them: lane l of a team has groups l, l + team, .. of 8.
template <int Held>
struct Head {
  float values[Held][8];
};

// RMSNorm over a head by the tree of norm_order.hpp.
template <int Held>
__device__ void normalise(Head<Held>& head, const Norm& norm, int lane, int team) {
  float sums[Held];
#pragma unroll
  for (int j = 0; j < Held; ++j) sums[j] = hopper::group_sum(head.values[j], 0, 8);
#pragma unroll
  for (int count = Held; count > 1; count /= 2) {
#pragma unroll
    for (int j = 0; j < Held; ++j) {
      if (j < count / 2) sums[j] = hopper::add(sums[j], sums[j + count / 2]);
    }
  }
  float sum = sums[0];
  for (int offset = team / 2; offset >= 1; offset /= 2) {
    sum = hopper::add(sum, __shfl_xor_sync(0xffffffff, sum, offset));
  }
  const float inverse = hopper::inverse_root(sum, norm.width, norm.eps);
#pragma unroll
  for (int j = 0; j < Held; ++j) {
    const int64_t first = (lane + j * team) * int64_t{8};
    if (first >= norm.width) continue;
    const Eight gain = load(norm.gain + first);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float stored = hopper::widen_bf16(gain.values[i]);
      head.values[j][i] = hopper::normed(head.values[j][i], inverse,
                                         norm.zero_centred ? hopper::add(1.0f, stored) : stored);
    }
  }
}

template <int Held>
__device__ void scale(Head<Held>& head, const bf16_bits* alpha, const bf16_bits* beta,
                      int64_t width, int lane, int team) {
#pragma unroll
  for (int j = 0; j < Held; ++j) {
    const int64_t first = (lane + j * team) * int64_t{8};
    if (first >= width) continue;
    const Eight a = load(alpha + first);
    const Eight b = load(beta + first);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      head.values[j][i] = hopper::scale_offset(hopper::widen_bf16(a.values[i]), head.values[j][i],
                                               hopper::widen_bf16(b.values[i]));
    }
  }
}

// A team of lanes takes one head of one row. heads: those at each row, queries first.
template <int Held>
__global__ void place_heads_kernel(HeadPlacement p, int64_t heads, int team) {
  begin_after_previous();
  extern __shared__ float shared[];
  const int64_t width = p.shape.width;
  const int64_t item = (blockIdx.x * int64_t{threads} + threadIdx.x) / team;
  const int lane = static_cast<int>(threadIdx.x) % team;
  const bool active = item < p.count * heads;  // inactive lanes take part in shuffles
  const int64_t row = active ? item / heads : 0;
  const int64_t slot = active ? item % heads : 0;
  const int64_t query_heads = p.has_queries ? p.shape.query_heads : 0;
  const bool query = slot < query_heads;
  const bool value = slot >= query_heads + p.shape.kv_heads;
  const Row place = p.rows[row];
  const bf16_bits* from = p.projected + row * p.projected_stride + slot * width;
  bf16_bits* to;
  if (query) {
    to = p.q + row * p.q_stride + slot * width;
  } else {
    const int64_t head = slot - query_heads - (value ? p.shape.kv_heads : 0);
    const int64_t at =
        place.sequence * p.kv.sequence_stride + head * p.kv.head_stride + place.position * width;
    to = (value ? p.kv.values : p.kv.keys) + at;
  }
  const bool writes = active && (query || row < p.base_rows);
  Head<Held> head;
#pragma unroll
  for (int j = 0; j < Held; ++j) {
    const int64_t first = (lane + j * team) * int64_t{8};
    Eight eight;
    eight.vector = {0, 0, 0, 0};
    if (first < width) eight = load(from + first);
#pragma unroll
    for (int i = 0; i < 8; ++i) head.values[j][i] = hopper::widen_bf16(eight.values[i]);
  }
  const bf16_bits* alpha = p.alpha[place.stream];
  const bf16_bits* beta = p.beta[place.stream];
  const bool scaled = query && alpha != nullptr;
  if (scaled && p.scale_first) {
    scale(head, alpha + slot * width, beta + slot * width, width, lane, team);
  }
  // Every lane shuffles; only queries and keys keep what comes out.
  const Norm& norm = query ? p.query_norm : p.key_norm;
  if (norm.gain != nullptr) {
    Head<Held> normed = head;
    normalise(normed, norm, lane, team);
    if (!value) head = normed;
  }
  if (scaled && !p.scale_first) {
    scale(head, alpha + slot * width, beta + slot * width, width, lane, team);
  }
  float* mine = shared + static_cast<int64_t>(threadIdx.x) / team * width;
  if (p.rotary != nullptr) {
#pragma unroll
    for (int j = 0; j < Held; ++j) {
      const int64_t first = (lane + j * team) * int64_t{8};
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        if (first < width) mine[first + i] = head.values[j][i];
      }
    }
    __syncwarp();
  }
  if (!writes) return;
  const int64_t half = p.rotary_width / 2;
  const float2* angles =
      reinterpret_cast<const float2*>(p.rotary) + (p.rotary != nullptr ? place.position * half : 0);
#pragma unroll
  for (int j = 0; j < Held; ++j) {
    const int64_t first = (lane + j * team) * int64_t{8};
    if (first >= width) continue;
    Eight result;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int64_t channel = first + i;
      float x = head.values[j][i];
      if (p.rotary != nullptr && !value && channel < 2 * half) {
        if (channel < half) {
          const float2 angle = angles[channel];
          x = hopper::rotated_first(x, mine[channel + half], angle.x, angle.y);
        } else {
          const float2 angle = angles[channel - half];
          x = hopper::rotated_second(mine[channel - half], x, angle.x, angle.y);
        }
      }
      result.values[i] = hopper::round_bf16(x);
    }
    *reinterpret_cast<uint4*>(to + first) = result.vector;
  }
}

}  // namespace

void launch_place_heads(const HeadPlacement& placement, cudaStream_t stream) {
  const AttentionShape& shape = placement.shape;
  const int64_t heads = (placement.has_queries ? shape.query_heads : 0) +
                        (placement.has_keys ? 2 * shape.kv_heads : 0);
  if (placement.count * heads == 0) return;
  const int64_t padded = hopper::padded_groups(shape.width);
  const int team = static_cast<int>(padded < 32 ? padded : 32);
  const int64_t teams = threads / team;
  const Grid grid{dim3(blocks_for(placement.count * heads, teams)), dim3(threads),
                  static_cast<size_t>(teams * shape.width) * sizeof(float)};
  if (padded <= 32) return launch(place_heads_kernel<1>, grid, stream, placement, heads, team);
  launch(place_heads_kernel<2>, grid, stream, placement, heads, team);
}

}  // namespace orthros::cuda
