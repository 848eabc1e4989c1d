// RMSNorm of rows.
#pragma once

#include <cstdint>

#include "reference/model/operations.hpp"
#include "reference/spec/model_spec.hpp"

namespace orthros {

// The factor that a stored gain g stands for: g, or 1 + g where norms are zero-centred.
template <class S>
Accumulator<S> norm_gain(const S& gain, NormKind kind) {
  using A = Accumulator<S>;
  return kind == NormKind::zero_centred ? A(1.0) + widen(gain) : widen(gain);
}

// RMSNorm of each row. x: rows x D, gain: D.
template <class S>
Matrix<S> rms_norm(const Matrix<S>& x, const Vector<S>& gain, NormKind kind, double eps) {
  Matrix<S> n(x.rows(), x.cols());
  for (int64_t row = 0; row < x.rows(); ++row) {
    const Accumulator<S> inverse = Operations<S>::inverse_rms(&x(row, 0), x.cols(), eps);
    for (int64_t i = 0; i < x.cols(); ++i) {
      n(row, i) = static_cast<S>(widen(x(row, i)) * inverse * norm_gain(gain(i), kind));
    }
  }
  return n;
}

}  // namespace orthros
