// The FFN: (silu(n W_gate) * n W_up) W_down.
#pragma once

#include "reference/model/model.hpp"
#include "reference/model/operations.hpp"

namespace orthros {

// n: rows x D. Result: rows x D.
template <class S>
Matrix<S> swiglu(const LayerWeights<S>& weights, const Matrix<S>& n) {
  Matrix<S> gate = weights.gate(n);
  const Matrix<S> up = weights.up(n);
  for (int64_t r = 0; r < gate.rows(); ++r) {
    for (int64_t i = 0; i < gate.cols(); ++i) {
      gate(r, i) = static_cast<S>(Operations<S>::silu(widen(gate(r, i))) * widen(up(r, i)));
    }
  }
  return weights.down(gate);
}

// x + y, rounded once.
template <class S>
void add_residual(Matrix<S>& x, const Matrix<S>& y) {
  for (int64_t r = 0; r < x.rows(); ++r) {
    for (int64_t i = 0; i < x.cols(); ++i) {
      x(r, i) = static_cast<S>(widen(x(r, i)) + widen(y(r, i)));
    }
  }
}

}  // namespace orthros
