// qk-norm, scale-offset and RoPE of projected heads; queries to their buffer, keys and values to
// the cache.
#include "cuda/kernels/eight.hpp"
#include "cuda/kernels/elementwise.hpp"
#include "cuda/kernels/place_rows.hpp"
#include "cuda/kernels/settled_row.hpp"
#include "cuda/layout/dealt_keys.hpp"
#include "cuda/support/launch.hpp"
#include "reference/hopper/e4m3.hpp"
#include "reference/hopper/norm_order.hpp"
#include "reference/hopper/pointwise.hpp"

namespace orthros::cuda {
namespace {

constexpr int threads = 256;

// A head's values as its lanes hold them: lane l of a team has groups l, l + team, .. of 8.
template <int Held>
struct Head {
  float values[Held][8];
};

// A lane's groups of a head, or of a head's weights.
template <int Held>
struct Groups {
  Eight groups[Held];

  // From memory; zeros past the width, or without memory.
  __device__ Groups(const bf16_bits* from, int64_t width, int lane, int team) {
#pragma unroll
    for (int j = 0; j < Held; ++j) {
      const int64_t first = (lane + j * team) * int64_t{8};
      groups[j] = from != nullptr && first < width ? Eight::load(from + first) : Eight::zeros();
    }
  }
};

// RMSNorm over a head by the tree of norm_order.hpp.
template <int Held>
__device__ void normalise(Head<Held>& head, const Norm& norm, const Groups<Held>& gain, int lane,
                          int team) {
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
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float stored = hopper::widen_bf16(gain.groups[j].values[i]);
      head.values[j][i] = hopper::normed(head.values[j][i], inverse,
                                         norm.zero_centred ? hopper::add(1.0f, stored) : stored);
    }
  }
}

template <int Held>
__device__ void scale(Head<Held>& head, const Groups<Held>& alpha, const Groups<Held>& beta) {
#pragma unroll
  for (int j = 0; j < Held; ++j) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      head.values[j][i] =
          hopper::scale_offset(hopper::widen_bf16(alpha.groups[j].values[i]), head.values[j][i],
                               hopper::widen_bf16(beta.groups[j].values[i]));
    }
  }
}

// The partner of each of a lane's values in its rotated pair: channel +- half. `InLane`: half is
// the first of the lane's two groups away; otherwise through the team's shared memory.
template <int Held, bool InLane>
__device__ Head<Held> partners(const Head<Held>& head, int64_t half, int64_t width, int lane,
                               int team, float* mine) {
  Head<Held> result;
  if constexpr (InLane) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      result.values[0][i] = head.values[1][i];
      result.values[1][i] = head.values[0][i];
    }
    return result;
  }
  __syncwarp();
#pragma unroll
  for (int j = 0; j < Held; ++j) {
    const int64_t first = (lane + j * team) * int64_t{8};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (first < width) mine[first + i] = head.values[j][i];
    }
  }
  __syncwarp();
#pragma unroll
  for (int j = 0; j < Held; ++j) {
    const int64_t first = (lane + j * team) * int64_t{8};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int64_t channel = first + i;
      const int64_t other = channel < half ? channel + half : channel - half;
      result.values[j][i] = channel < 2 * half ? mine[other] : 0.0f;
    }
  }
  return result;
}

// Brings a lane's groups of a head's weights towards L2.
template <int Held>
__device__ void fetch(const bf16_bits* from, int64_t width, int lane, int team) {
#pragma unroll
  for (int j = 0; j < Held; ++j) {
    const int64_t first = (lane + j * team) * int64_t{8};
    if (from != nullptr && first < width) {
      asm volatile("prefetch.global.L2 [%0];" ::"l"(from + first));
    }
  }
}

// Eight bf16 values as e4m3 entries.
__device__ void store_entries(const Eight& eight, float inverse_scale, uint8_t* to) {
  uint32_t fours[2] = {0, 0};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const uint8_t entry =
        hopper::round_e4m3(hopper::multiply(hopper::widen_bf16(eight.values[i]), inverse_scale));
    fours[i / 4] |= static_cast<uint32_t>(entry) << 8 * (i % 4);
  }
  *reinterpret_cast<uint2*>(to) = {fours[0], fours[1]};
}

// A team of lanes takes every `share`-th head of one row, with the row's angles in registers.
// heads: those at each row, queries first, a multiple of share. InLane: all of a head is rotated,
// and a lane's two groups are each other's partners.
template <int Held, bool InLane>
__global__ void __launch_bounds__(threads, 2)
    place_heads_kernel(HeadPlacement p, int heads, int share, int team) {
  const int64_t width = p.shape.width;
  const int64_t item = (blockIdx.x * int64_t{threads} + threadIdx.x) / team;
  const int lane = static_cast<int>(threadIdx.x) % team;
  const bool active = item < p.count * share;  // inactive lanes take part in shuffles
  const int64_t row = active ? item / share : 0;
  const int query_heads = p.has_queries ? static_cast<int>(p.shape.query_heads) : 0;
  int slot = active ? static_cast<int>(item % share) : 0;
  // Weights, places and angles, which no kernel ahead writes: on their way while it ends.
  const Groups<Held> query_gain(p.query_norm.gain, width, lane, team);
  const Groups<Held> key_gain(p.key_norm.gain, width, lane, team);
  if (slot < query_heads) {
    for (const bf16_bits* from : {p.alpha[0], p.alpha[1], p.beta[0], p.beta[1]}) {
      if (from != nullptr) fetch<Held>(from + slot * width, width, lane, team);
    }
  }
  extern __shared__ float shared[];
  const int64_t half = p.rotary != nullptr ? p.rotary_width / 2 : 0;
  const int kv_heads = static_cast<int>(p.shape.kv_heads);
  const Row place = settled_row(p.rows + row);
  const bf16_bits* alpha = p.alpha[place.stream];
  const bf16_bits* beta = p.beta[place.stream];
  const bf16_bits* projected = p.projected + row * p.projected_stride;
  const int64_t entry =
      place.sequence * p.kv.sequence_stride + dealt_place(place.position, p.kv.deal.ranks) * width;
  const bool here = is_dealt(place.position, p.kv.deal);
  float* mine = shared + static_cast<int64_t>(threadIdx.x) / team * width;
  constexpr int angle_groups = InLane ? 1 : Held;
  float2 angles[angle_groups][8];
#pragma unroll
  for (int j = 0; j < angle_groups; ++j) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int64_t channel = (lane + j * team) * int64_t{8} + i;
      if (channel < 2 * half) {
        angles[j][i] = reinterpret_cast<const float2*>(
            p.rotary)[place.position * half + (channel < half ? channel : channel - half)];
      }
    }
  }
  begin_after_previous();
  Groups<Held> next(projected + slot * width, width, lane, team);
  for (; slot < heads; slot += share) {
    const Groups<Held> now = next;
    if (slot + share < heads) {
      next = Groups<Held>(projected + (slot + share) * width, width, lane, team);
    }
    const bool query = slot < query_heads;
    const bool value = slot >= query_heads + kv_heads;
    bf16_bits* to = nullptr;
    uint8_t* to8 = nullptr;
    float inverse_scale = 1.0f;
    if (query) {
      to = p.q + row * p.q_stride + slot * width;
    } else {
      const int head = slot - query_heads - (value ? kv_heads : 0);
      const int64_t at = entry + head * p.kv.head_stride;
      if (p.kv.keys8 != nullptr) {
        to8 = (value ? p.kv.values8 : p.kv.keys8) + at;
        inverse_scale = hopper::inverse_scale(p.kv.exponents[value ? kv_heads + head : head]);
      } else {
        to = (value ? p.kv.values : p.kv.keys) + at;
      }
    }
    const auto store = [&](const Eight& eight, int64_t first) {
      if (to8 != nullptr) {
        store_entries(eight, inverse_scale, to8 + first);
      } else {
        eight.store(to + first);
      }
    };
    const bool writes = active && (query || (row < p.base_rows && here));
    if (__all_sync(0xffffffff, value)) {
#pragma unroll
      for (int j = 0; j < Held; ++j) {
        const int64_t first = (lane + j * team) * int64_t{8};
        if (writes && first < width) store(now.groups[j], first);
      }
      continue;
    }
    Head<Held> head;
#pragma unroll
    for (int j = 0; j < Held; ++j) {
#pragma unroll
      for (int i = 0; i < 8; ++i) head.values[j][i] = hopper::widen_bf16(now.groups[j].values[i]);
    }
    const bool scaled = query && alpha != nullptr;
    const Groups<Held> slopes(scaled ? alpha + slot * width : nullptr, width, lane, team);
    const Groups<Held> offsets(scaled ? beta + slot * width : nullptr, width, lane, team);
    if (scaled && p.scale_first) scale(head, slopes, offsets);
    // Every lane shuffles; values keep nothing of what comes out.
    const Norm& norm = query ? p.query_norm : p.key_norm;
    if (norm.gain != nullptr) {
      Groups<Held> gain = key_gain;
      if (query) gain = query_gain;
      normalise(head, norm, gain, lane, team);
    }
    if (scaled && !p.scale_first) scale(head, slopes, offsets);
    if (half > 0) {
      const Head<Held> other = partners<Held, InLane>(head, half, width, lane, team, mine);
#pragma unroll
      for (int j = 0; j < Held; ++j) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const int64_t channel = (lane + j * team) * int64_t{8} + i;
          if (!InLane && channel >= 2 * half) continue;
          const float2 angle = angles[InLane ? 0 : j][i];
          const bool first_of_pair = InLane ? j == 0 : channel < half;
          head.values[j][i] =
              first_of_pair
                  ? hopper::rotated_first(head.values[j][i], other.values[j][i], angle.x, angle.y)
                  : hopper::rotated_second(other.values[j][i], head.values[j][i], angle.x, angle.y);
        }
      }
    }
    if (!writes) continue;
#pragma unroll
    for (int j = 0; j < Held; ++j) {
      const int64_t first = (lane + j * team) * int64_t{8};
      if (first >= width) continue;
      Eight result = now.groups[j];
      if (!value) {
#pragma unroll
        for (int i = 0; i < 8; ++i) result.values[i] = hopper::round_bf16(head.values[j][i]);
      }
      store(result, first);
    }
  }
}

}  // namespace

void launch_place_heads(const HeadPlacement& placement, cudaStream_t stream) {
  const AttentionShape& shape = placement.shape;
  const int64_t heads = (placement.has_queries ? shape.query_heads : 0) +
                        (placement.has_keys ? 2 * shape.kv_heads : 0);
  if (placement.count * heads == 0) return;
  constexpr int64_t many_rows = 264;
  if (placement.count >= many_rows && place_rows_fits(placement)) {
    return launch_place_rows(placement, stream);
  }
  const int64_t padded = hopper::padded_groups(shape.width);
  // A lane has two groups where these are partners, and where a warp has too few lanes for one
  // each.
  const bool in_lane = padded >= 2 && padded <= 64 && shape.width == padded * 8 &&
                       (placement.rotary == nullptr || placement.rotary_width == shape.width);
  const int64_t team = in_lane || padded > 32 ? padded / 2 : padded;
  // Many rows: several heads a team. Few: every head at once.
  int64_t share = heads;
  while (placement.count >= many_rows && share > heads / 4 && share % 2 == 0) share /= 2;
  const int64_t teams = threads / team;
  Grid grid{dim3(blocks_for(placement.count * share, teams)), dim3(threads)};
  const auto run = [&](auto kernel) {
    launch(kernel, grid, stream, placement, heads, share, team);
  };
  if (in_lane) return run(place_heads_kernel<2, true>);
  grid.shared_bytes = static_cast<size_t>(teams * shape.width) * sizeof(float);
  if (padded <= 32) return run(place_heads_kernel<1, false>);
  run(place_heads_kernel<2, false>);
}

}  // namespace orthros::cuda
