// qk-norm, scale-offset and RoPE of projected heads for many rows: a warp keeps its heads' weights
// and goes through rows.
#include "cuda/kernels/place_rows.hpp"

#include <algorithm>

#include "cuda/kernels/eight.hpp"
#include "cuda/support/launch.hpp"
#include "reference/hopper/norm_order.hpp"
#include "reference/hopper/pointwise.hpp"

namespace orthros::cuda {
namespace {

constexpr int threads = 128;
constexpr int resident_blocks = 5;  // of a multiprocessor: 96 registers a thread
constexpr int64_t most_rows_each = 8;

// Lane l of a head's `Lanes` has its groups l and l + Lanes of 8 values, the partners in rotation.
template <int Lanes>
struct Pair {
  static constexpr int width = 16 * Lanes;  // of a head
  static constexpr int apart = width / 2;   // channels between the groups
  Eight groups[2];

  __device__ static Pair load(const bf16_bits* from) {
    return {{Eight::load(from), Eight::load(from + apart)}};
  }
  __device__ static Pair load_constant(const bf16_bits* from) {
    return {{Eight::load_constant(from), Eight::load_constant(from + apart)}};
  }
  __device__ void store(bf16_bits* to) const {
    groups[0].store(to);
    groups[1].store(to + apart);
  }
  __device__ void widen(float (&to)[2][8]) const {
    groups[0].widen(to[0]);
    groups[1].widen(to[1]);
  }
};

// A row's sixteen bytes, loaded at once.
__device__ Row row_of(const int4& bytes) {
  static_assert(sizeof(Row) == sizeof(int4));
  Row row;
  memcpy(&row, &bytes, sizeof row);
  return row;
}

// RMSNorm over a head by the tree of norm_order.hpp.
template <int Lanes>
__device__ void normalise(float (&head)[2][8], const Norm& norm, const Pair<Lanes>& gains,
                          bool normed) {
  float sum = hopper::add(hopper::group_sum(head[0], 0, 8), hopper::group_sum(head[1], 0, 8));
#pragma unroll
  for (int offset = Lanes / 2; offset >= 1; offset /= 2) {
    sum = hopper::add(sum, __shfl_xor_sync(0xffffffff, sum, offset));
  }
  if (!normed) return;
  // The width is a power of two, so that this product is the quotient.
  constexpr float part = 1.0f / Pair<Lanes>::width;
  const float inverse = hopper::inverse_root(hopper::multiply(sum, part), norm.eps);
  float gain[2][8];
  gains.widen(gain);
#pragma unroll
  for (int j = 0; j < 2; ++j) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float stored = gain[j][i];
      head[j][i] = hopper::normed(head[j][i], inverse,
                                  norm.zero_centred ? hopper::add(1.0f, stored) : stored);
    }
  }
}

template <int Lanes>
__device__ void scale(float (&head)[2][8], const Pair<Lanes>& alpha, const Pair<Lanes>& beta) {
  float slope[2][8];
  float offset[2][8];
  alpha.widen(slope);
  beta.widen(offset);
#pragma unroll
  for (int j = 0; j < 2; ++j) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      head[j][i] = hopper::scale_offset(slope[j][i], head[j][i], offset[j][i]);
    }
  }
}

// angles: {cos, sin} of a lane's eight pairs.
__device__ void rotate(float (&head)[2][8], const float4 (&angles)[4]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float4& two = angles[i / 2];
    const float cosine = i % 2 == 0 ? two.x : two.z;
    const float sine = i % 2 == 0 ? two.y : two.w;
    const float first = head[0][i];
    const float second = head[1][i];
    head[0][i] = hopper::rotated_first(first, second, cosine, sine);
    head[1][i] = hopper::rotated_second(first, second, cosine, sine);
  }
}

// Warp w of block (b, g): heads 32 / Lanes (threads / 32 g + w) on, queries first, of rows
// rows_each b on.
template <int Lanes>
__global__ void __launch_bounds__(threads, resident_blocks)
    place_rows_kernel(HeadPlacement p, int heads, int rows_each) {
  using Values = Pair<Lanes>;
  constexpr int width = Values::width;
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const int wanted = static_cast<int>(blockIdx.y * threads + threadIdx.x) / Lanes;
  const bool active = wanted < heads;  // inactive lanes take part in shuffles
  const int slot = active ? wanted : heads - 1;
  const int query_heads = p.has_queries ? static_cast<int>(p.shape.query_heads) : 0;
  const int kv_heads = static_cast<int>(p.shape.kv_heads);
  const bool query = slot < query_heads;
  const bool value = slot >= query_heads + kv_heads;
  const bool all_values = __all_sync(0xffffffff, value);
  const Norm& norm = query ? p.query_norm : p.key_norm;
  const bool normed = norm.gain != nullptr && !value;
  Values gains{};
  if (normed) gains = Values::load_constant(norm.gain + lane * 8);
  begin_after_previous();
  int64_t row = blockIdx.x * int64_t{rows_each};
  const int64_t end = min(row + rows_each, p.count);
  const bf16_bits* from = p.projected + row * p.projected_stride + slot * width + lane * 8;
  const int4* places = reinterpret_cast<const int4*>(p.rows + row);
  Values next = Values::load(from);
  int4 next_place = *places;
  bf16_bits* to = p.q + row * p.q_stride + slot * width + lane * 8;
  if (!query) {
    const int head = slot - query_heads - (value ? kv_heads : 0);
    to = (value ? p.kv.values : p.kv.keys) + head * p.kv.head_stride + lane * 8;
  }
  int stream = -1;
  bool scaled = false;
  Values alpha{};
  Values beta{};
  for (; row < end; ++row) {
    const Values now = next;
    const Row place = row_of(next_place);
    if (row + 1 < end) {
      from += p.projected_stride;
      next = Values::load(from);
      next_place = *++places;
    }
    bf16_bits* here = to;
    if (query) {
      to += p.q_stride;
    } else {
      here += place.sequence * p.kv.sequence_stride + place.position * width;
    }
    const bool writes = active && (query || row < p.base_rows);
    if (all_values) {
      if (writes) now.store(here);
      continue;
    }
    float4 angles[4];
    if (p.rotary != nullptr) {
      const float* first = p.rotary + place.position * width + lane * 16;
#pragma unroll
      for (int i = 0; i < 4; ++i) angles[i] = __ldg(reinterpret_cast<const float4*>(first) + i);
    }
    if (place.stream != stream) {
      stream = place.stream;
      scaled = query && p.alpha[stream] != nullptr;
      if (scaled) {
        alpha = Values::load_constant(p.alpha[stream] + slot * width + lane * 8);
        beta = Values::load_constant(p.beta[stream] + slot * width + lane * 8);
      }
    }
    float head[2][8];
    now.widen(head);
    if (scaled && p.scale_first) scale(head, alpha, beta);
    normalise(head, norm, gains, normed);
    if (scaled && !p.scale_first) scale(head, alpha, beta);
    if (p.rotary != nullptr) rotate(head, angles);
    if (!writes) continue;
    if (value) {
      now.store(here);
    } else {
      Values{{Eight::rounded(head[0]), Eight::rounded(head[1])}}.store(here);
    }
  }
}

}  // namespace

bool place_rows_fits(const HeadPlacement& p) {
  const int64_t width = p.shape.width;
  return (width == 64 || width == 128 || width == 256) &&
         (p.rotary == nullptr || p.rotary_width == width) && p.kv.keys8 == nullptr &&
         p.kv.deal.ranks == 1;
}

void launch_place_rows(const HeadPlacement& p, cudaStream_t stream) {
  const int64_t heads =
      (p.has_queries ? p.shape.query_heads : 0) + (p.has_keys ? 2 * p.shape.kv_heads : 0);
  const int64_t heads_each = threads * 16 / p.shape.width;
  // Several waves of blocks, and as few loads of weights as that leaves.
  const int64_t rows_each = std::clamp<int64_t>(p.count / 512, 1, most_rows_each);
  const Grid grid{dim3(blocks_for(p.count, rows_each), blocks_for(heads, heads_each)),
                  dim3(threads)};
  const auto run = [&](auto kernel) { launch(kernel, grid, stream, p, heads, rows_each); };
  if (p.shape.width == 64) return run(place_rows_kernel<4>);
  if (p.shape.width == 128) return run(place_rows_kernel<8>);
  run(place_rows_kernel<16>);
}

}  // namespace orthros::cuda
