// What the reference asks of a scalar: storage type, accumulator, and the counted multiply-add.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>

#include "reference/weights/bfloat16.hpp"

namespace orthros {

// The reference is a template over the scalar S in which activations, weights and caches are
// stored. Arithmetic runs in Accumulator<S>; a result is rounded to S at these points, which are
// the engine's: the embedding, each RMSNorm's result, each linear layer's result, q and k once
// after norm, scale-offset and RoPE, softmax's weights before they meet V (their sum is over
// unrounded ones), each attention or recurrence output, the SwiGLU product, each residual sum.
// Logits stay in Accumulator<S>. For double and float every rounding is the identity.
template <class S>
struct Arithmetic {
  using Accumulator = S;
};
template <>
struct Arithmetic<bfloat16> {
  using Accumulator = float;
};
template <class S>
using Accumulator = typename Arithmetic<S>::Accumulator;

template <class S>
Accumulator<S> widen(const S& value) {
  return static_cast<Accumulator<S>>(value);
}

// sum + x y, rounded twice. Every multiply-add that a FLOP count includes is a call of this
// (linear layers, convolutions, QK, PV, state update and read); nothing elementwise is.
template <class A>
A multiply_add(const A& sum, const A& x, const A& y) {
  return sum + x * y;
}

// Rows are tokens; a row is contiguous.
template <class S>
using Matrix = Eigen::Matrix<S, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class S>
using Vector = Eigen::Matrix<S, Eigen::Dynamic, 1>;

}  // namespace orthros
