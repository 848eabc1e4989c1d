// Softmax attention written out on whole matrices, apart from the reference's.
#pragma once

#include <cmath>
#include <cstdint>

#include "reference/model/arithmetic.hpp"

namespace orthros {

// One row's attention over keys first..last (from 1). q: Hq d values as a row; keys and values:
// tokens x Hkv d. Result: 1 x Hq d. Head h reads KV head floor(h Hkv / Hq).
inline Matrix<double> attention_by_hand(const Matrix<double>& q, const Matrix<double>& keys,
                                        const Matrix<double>& values, int64_t query_heads,
                                        int64_t kv_heads, int64_t first, int64_t last) {
  const int64_t d = q.cols() / query_heads;
  const int64_t count = last - first + 1;
  Matrix<double> o(1, q.cols());
  for (int64_t h = 0; h < query_heads; ++h) {
    const int64_t at = h * kv_heads / query_heads * d;
    const Eigen::VectorXd scores = keys.block(first - 1, at, count, d) *
                                   q.block(0, h * d, 1, d).transpose() /
                                   std::sqrt(static_cast<double>(d));
    const Eigen::VectorXd weights = (scores.array() - scores.maxCoeff()).exp();
    o.block(0, h * d, 1, d) =
        weights.transpose() * values.block(first - 1, at, count, d) / weights.sum();
  }
  return o;
}

}  // namespace orthros
