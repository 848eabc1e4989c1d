// The recurrent mixers' one shape: a state, an update per token, a read per query.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>

#include "reference/model/arithmetic.hpp"
#include "reference/spec/model_spec.hpp"

namespace orthros {

// What one token brings to one head's state S (K x V). Normalised and scaled already: RetNet's and
// GLA's q by K^-1/2, GDN's q and k by their L2 norms and q by K^-1/2.
template <class A>
struct RecurrentToken {
  const A* key = nullptr;       // K
  const A* value = nullptr;     // V
  const A* log_gate = nullptr;  // one number, or one a key channel
  bool gate_per_channel = false;
  A write = A(1.0);  // beta; gated_delta only
};

template <class A>
using State = Eigen::Ref<Matrix<A>>;

// S <- e^g S, then S + k^T v, or with the delta rule S + k^T beta (v - k S).
template <class A>
void update_state(Recurrence kind, const RecurrentToken<A>& token, State<A> state) {
  using std::exp;
  const int64_t keys = state.rows();
  const int64_t values = state.cols();
  for (int64_t i = 0; i < keys; ++i) {
    const A decay = exp(token.log_gate[token.gate_per_channel ? i : 0]);
    for (int64_t j = 0; j < values; ++j) state(i, j) = decay * state(i, j);
  }
  for (int64_t j = 0; j < values; ++j) {
    A write = token.value[j];
    if (kind == Recurrence::gated_delta) {
      A held(0.0);
      for (int64_t i = 0; i < keys; ++i) held = multiply_add(held, token.key[i], state(i, j));
      write = token.write * (write - held);
    }
    for (int64_t i = 0; i < keys; ++i) {
      state(i, j) = multiply_add(state(i, j), token.key[i], write);
    }
  }
}

// o = q S: q K values, o V values. Leaves the state as it is.
template <class A>
void read_state(const A* query, const Eigen::Ref<const Matrix<A>>& state, A* o) {
  for (int64_t j = 0; j < state.cols(); ++j) {
    A sum(0.0);
    for (int64_t i = 0; i < state.rows(); ++i) sum = multiply_add(sum, query[i], state(i, j));
    o[j] = sum;
  }
}

// x / sqrt(sum of squares + 1e-6), in place.
template <class A>
void l2_normalise(A* x, int64_t width) {
  using std::sqrt;
  A sum(0.0);
  for (int64_t i = 0; i < width; ++i) sum = sum + x[i] * x[i];
  const A inverse = A(1.0) / sqrt(sum + A(1e-6));
  for (int64_t i = 0; i < width; ++i) x[i] = x[i] * inverse;
}

// RetNet's decay of head h: gamma_h = 1 - 2^(-5-h), as its logarithm.
inline double retention_log_gate(int64_t head) {
  return std::log1p(-std::exp2(-5.0 - static_cast<double>(head)));
}

}  // namespace orthros
