// The vector kernel behind PanelRows, for any vector width: steps of a chain, outputs as lanes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "reference/hopper/dot_panel.hpp"
#include "reference/hopper/dot_step.hpp"

namespace orthros::hopper {

// One row as the kernel reads it.
struct KernelRow {
  const float* values;
  const int32_t* exponents;
  const uint32_t* not_zero;
};

// What the kernel leaves behind, a row of lanes each: even lanes' vectors and odd lanes' alternate.
struct KernelResult {
  float sums[panel_lanes];
  uint32_t
      doubts[panel_lanes];  // not zero: the lane left the kernel's range, its sum means nothing
};

// How a step is done in floats and 32-bit integers. In units u = 2^(E - 25), E the largest exponent
// of the step, a term's magnitude is below 2^27 and conversion to an integer truncates it toward
// zero, as the tensor core does. Exponents are kept in place as float bit patterns 2^E, so that the
// maximum of floats is theirs. It holds while E is in [-101, 126]: then a product of two bf16
// values that is not below u is exact in float, and so is scaling it. A sum of products below 2^30
// units cannot overflow; a larger one is in doubt. Factors of outputs count as having exponent -127
// where they are 0 or subnormal, which stays below -101 while the row's exponents are at most 23.
// The caller has set rounding toward zero, which is how the sum becomes a float of 24 bits.
inline constexpr int32_t least_exponent = 26;  // biased
inline constexpr int32_t most_exponent = 253;
inline constexpr int32_t most_row_exponent = 23;
inline constexpr int16_t exponent_of_zero = -16384;

template <size_t N>
struct VectorOf {
  typedef float Floats __attribute__((vector_size(4 * N)));
  typedef int32_t Ints __attribute__((vector_size(4 * N)));
  typedef uint32_t Words __attribute__((vector_size(4 * N)));  // sums may wrap around
  typedef int16_t Shorts __attribute__((vector_size(4 * N)));
};

// The chains of Rows rows with a panel of `length` values an output.
template <size_t N, size_t Rows>
[[gnu::always_inline]] inline void run_panel(const KernelRow* rows, const uint16_t* panel,
                                             int64_t length, KernelResult* results) {
  using F = typename VectorOf<N>::Floats;
  using I = typename VectorOf<N>::Ints;
  using U = typename VectorOf<N>::Words;
  using H = typename VectorOf<N>::Shorts;
  constexpr size_t pairs = static_cast<size_t>(panel_lanes) / (2 * N);
  F sums[Rows][pairs][2] = {};
  U doubts[Rows][pairs][2] = {};
  const F least = F(I{} + (least_exponent << 23));
  const F most = F(I{} + (most_exponent << 23));
  for (int64_t k = 0; k < length; k += step_terms) {
    const int64_t terms = std::min(step_terms, length - k);
    for (size_t pair = 0; pair < pairs; ++pair) {
      const uint16_t* weights = panel + k * panel_lanes + pair * 2 * N;
      H largest[Rows] = {};
      for (int64_t i = 0; i < terms; ++i) {
        H weight;
        std::memcpy(&weight, weights + i * panel_lanes, sizeof weight);
        const H field = (weight >> 7) & 0xff;
        for (size_t r = 0; r < Rows; ++r) {
          const H exponent = field + H(I{} + rows[r].exponents[k + i]);
          largest[r] = largest[r] > exponent ? largest[r] : exponent;
        }
      }
      F scale[Rows][2];
      U units[Rows][2];
      for (size_t r = 0; r < Rows; ++r) {
        largest[r] = largest[r] < 255 ? largest[r] : H{} + 255;
        for (size_t half = 0; half < 2; ++half) {
          const F& sum = sums[r][pair][half];
          const I raw = I(largest[r]);
          const F of_products = F(half == 0 ? raw << 23 : (raw >> 16) << 23);
          const F of_sum = F(I(sum) & 0x7f800000);
          const F exponent = of_products > of_sum ? of_products : of_sum;
          F held = exponent > least ? exponent : least;
          held = held < most ? held : most;
          doubts[r][pair][half] |= (U(exponent) ^ U(held)) & rows[r].not_zero[k / step_terms];
          scale[r][half] = F((U{} + (279u << 23)) - U(held));
          units[r][half] = U{};
        }
      }
      for (int64_t i = 0; i < terms; ++i) {
        I weight;
        std::memcpy(&weight, weights + i * panel_lanes, sizeof weight);
        const F even = F(weight << 16);
        const F odd = F(weight & static_cast<int32_t>(0xffff0000u));
        for (size_t r = 0; r < Rows; ++r) {
          const float value = rows[r].values[k + i];
          units[r][0] += U(__builtin_convertvector((even * value) * scale[r][0], I));
          units[r][1] += U(__builtin_convertvector((odd * value) * scale[r][1], I));
        }
      }
      for (size_t r = 0; r < Rows; ++r) {
        for (size_t half = 0; half < 2; ++half) {
          F& sum = sums[r][pair][half];
          const U& products = units[r][half];
          doubts[r][pair][half] |= (products ^ (products + products)) & 0x80000000u;
          const U all = products + U(__builtin_convertvector(sum * scale[r][half], I));
          const F unit = F((U{} + (254u << 23)) - U(scale[r][half]));
          sum = __builtin_convertvector(I(all), F) * unit;
        }
      }
    }
  }
  for (size_t r = 0; r < Rows; ++r) {
    static_assert(sizeof sums[r] == sizeof results[r].sums);
    std::memcpy(results[r].sums, &sums[r], sizeof sums[r]);
    std::memcpy(results[r].doubts, &doubts[r], sizeof doubts[r]);
  }
}

// Where lane o of a panel stands in a KernelResult.
template <int64_t N>
int64_t place_of(int64_t o) {
  return o / (2 * N) * (2 * N) + o % 2 * N + o % (2 * N) / 2;
}

}  // namespace orthros::hopper
