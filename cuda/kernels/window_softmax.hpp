// The arithmetic of a row's softmax in window attention: its range of scores, its weights.
#pragma once

#include "cuda/kernels/window_shared.hpp"
#include "reference/hopper/softmax_order.hpp"

namespace orthros::cuda::window {

// A thread's scores of two rows; element 4 j + 2 h + e is column 8 j + 2 (lane % 4) + e of row h.
inline constexpr int32_t score_count = window_blocks * 8;

// The largest score of each of a thread's two rows, among all lanes that hold it, and a bound below
// the thread's own: the least, or 0 where none is negative.
struct ScoreRange {
  float most[2];
  float least[2];
};

// The largest bits of row h, by `larger_of` of three, in two chains.
template <int count, class Bits, class Larger>
__device__ __forceinline__ Bits largest_bits(const float (&scores)[score_count], int h,
                                             Larger larger_of) {
  const auto bits = [&](int i) {
    return static_cast<Bits>(__float_as_uint(scores[i / 2 * 4 + 2 * h + i % 2]));
  };
  Bits even = larger_of(bits(0), bits(1), bits(4));
  Bits odd = larger_of(bits(2), bits(3), bits(5));
#pragma unroll
  for (int i = 8; i < count / 2; i += 4) {
    even = larger_of(even, bits(i), bits(i + 1));
    odd = larger_of(odd, bits(i + 2), bits(i + 3));
  }
  return larger_of(even, odd, larger_of(odd, bits(6), bits(7)));
}

// Floats compared by their bits, two a step. As signed numbers non-negative floats are in order
// above all negative ones, and those in reverse; as unsigned ones, likewise with negative ones
// above. A product's NaN is 0x7fffffff, above all that are not negative.
template <int count>
__device__ __forceinline__ ScoreRange range_of(const float (&scores)[score_count]) {
  const auto signed_largest = [](int32_t x, int32_t y, int32_t z) { return __vimax3_s32(x, y, z); };
  const auto largest = [](uint32_t x, uint32_t y, uint32_t z) { return __vimax3_u32(x, y, z); };
  const auto smallest = [](uint32_t x, uint32_t y, uint32_t z) { return __vimin3_u32(x, y, z); };
  int32_t most[2];
  uint32_t least[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    most[h] = largest_bits<count, int32_t>(scores, h, signed_largest);
    least[h] = largest_bits<count, uint32_t>(scores, h, largest);
  }
#pragma unroll
  for (int distance = 1; distance <= 2; distance *= 2) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      most[h] = max(most[h], __shfl_xor_sync(0xffffffffu, most[h], distance));
    }
  }
  if (__any_sync(0xffffffffu, min(most[0], most[1]) < 0)) [[unlikely]] {
    // All of a row are negative: the largest is the least as a number.
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      uint32_t nearest = largest_bits<count, uint32_t>(scores, h, smallest);
      nearest = min(nearest, __shfl_xor_sync(0xffffffffu, nearest, 1));
      nearest = min(nearest, __shfl_xor_sync(0xffffffffu, nearest, 2));
      if (most[h] < 0) most[h] = static_cast<int32_t>(nearest);
    }
  }
  ScoreRange range;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    range.most[h] = __int_as_float(most[h]);
    range.least[h] = static_cast<int32_t>(least[h]) < 0 ? __uint_as_float(least[h]) : 0.0f;
  }
  return range;
}

// Whether normal_weight gives the weights of all scores from `least` on.
__device__ __forceinline__ bool weights_are_normal(float least, float scale, float most_scaled) {
  return fabsf(most_scaled) < 0x1p20f && hopper::fused(least, scale, -most_scaled) > -125.0f;
}

// hopper::weight_of where 2^t is a normal number and t at most 1: t needs no clamp, and the power
// of two is added to the exponent's field. The polynomial is halved throughout, and z moved down by
// 126: an even number, so that it rounds alike, and z's low bits are the rounded t plus 1.
__device__ __forceinline__ float normal_weight(float score, float scale, float most_scaled) {
  constexpr float magic = hopper::exp2_magic - 126.0f;
  const float t = hopper::fused(score, scale, -most_scaled);
  const float z = hopper::add(t, magic);
  const float f = hopper::subtract(t, hopper::subtract(z, magic));
  float p = hopper::fused(f, hopper::exp2_c4 / 2, hopper::exp2_c3 / 2);
  p = hopper::fused(f, p, hopper::exp2_c2 / 2);
  p = hopper::fused(f, p, hopper::exp2_c1 / 2);
  p = hopper::fused(f, p, 0.5f);
  return hopper::from_bits(hopper::bits_of(p) + (hopper::bits_of(z) << 23));
}

__device__ __forceinline__ uint32_t rounded_pair(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

}  // namespace orthros::cuda::window
