// The chunkwise form of the recurrences: c tokens at once by matrix products, from the same gates.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/model/arithmetic.hpp"
#include "reference/model/recurrence.hpp"

namespace orthros {

// A chunk of c tokens of one head. Products run over whole c x c squares, as a kernel's would,
// with what lies past the diagonal zeroed, so their multiply-adds are DESIGN's counts.
template <class A>
class Chunk {
 public:
  // queries: c x K; tokens: c of them; state: K x V, carried in and out; o: c x V.
  Chunk(Recurrence kind, const Matrix<A>& queries, std::span<const RecurrentToken<A>> tokens,
        State<A> state)
      : kind_(kind),
        q_(queries),
        tokens_(tokens),
        state_(state),
        count_(static_cast<int64_t>(tokens.size())),
        keys_(state.rows()),
        values_(state.cols()) {
    sum_gates();
  }

  Matrix<A> run() {
    const Matrix<A> written = kind_ == Recurrence::gated_delta ? delta_values() : values();
    Matrix<A> o = zeros(count_, values_);
    for (int64_t i = 0; i < count_; ++i) {
      for (int64_t j = 0; j < count_; ++j) {
        A score(0.0);
        for (int64_t c = 0; c < keys_; ++c) {
          score = multiply_add(score, q_(i, c), kept(i, j, c) * key(j, c));
        }
        for (int64_t v = 0; v < values_; ++v) o(i, v) = multiply_add(o(i, v), score, written(j, v));
      }
      for (int64_t c = 0; c < keys_; ++c) {
        const A carried = q_(i, c) * exp_of(gates_(i, gate(c)));
        for (int64_t v = 0; v < values_; ++v)
          o(i, v) = multiply_add(o(i, v), carried, state_(c, v));
      }
    }
    advance(written);
    return o;
  }

 private:
  static Matrix<A> zeros(int64_t rows, int64_t cols) {
    Matrix<A> m(rows, cols);
    m.fill(A(0.0));
    return m;
  }
  static A exp_of(const A& x) {
    using std::exp;
    return exp(x);
  }
  const A& key(int64_t j, int64_t c) const { return tokens_[static_cast<size_t>(j)].key[c]; }
  const A& value(int64_t j, int64_t v) const { return tokens_[static_cast<size_t>(j)].value[v]; }
  const A& write(int64_t j) const { return tokens_[static_cast<size_t>(j)].write; }
  int64_t gate(int64_t channel) const { return per_channel_ ? channel : 0; }

  // Running sums of log-gates, the token's own included: what is left at i of what was written at
  // j <= i is e^(sum_i - sum_j).
  void sum_gates() {
    per_channel_ = tokens_[0].gate_per_channel;
    gates_ = zeros(count_, per_channel_ ? keys_ : 1);
    for (int64_t i = 0; i < count_; ++i) {
      for (int64_t c = 0; c < gates_.cols(); ++c) {
        const A& own = tokens_[static_cast<size_t>(i)].log_gate[c];
        gates_(i, c) = i == 0 ? own : gates_(i - 1, c) + own;
      }
    }
  }
  A kept(int64_t i, int64_t j, int64_t channel) const {
    if (j > i) return A(0.0);
    return exp_of(gates_(i, gate(channel)) - gates_(j, gate(channel)));
  }

  Matrix<A> values() const {
    Matrix<A> result(count_, values_);
    for (int64_t j = 0; j < count_; ++j) {
      for (int64_t v = 0; v < values_; ++v) result(j, v) = value(j, v);
    }
    return result;
  }

  // The delta rule's writes u = (I + L)^-1 diag(beta) (V - diag(e^b) K S), the WY form: with
  // L_ij = beta_i e^(b_i - b_j) k_i k_j below the diagonal, u = U - W S.
  Matrix<A> delta_values() const {
    const Matrix<A> inverse = unit_lower_inverse(overlaps());
    Matrix<A> u = zeros(count_, values_);
    Matrix<A> w = zeros(count_, keys_);
    for (int64_t i = 0; i < count_; ++i) {
      for (int64_t j = 0; j < count_; ++j) {
        const A weight = inverse(i, j) * write(j);
        const A decayed = weight * exp_of(gates_(j, 0));
        for (int64_t v = 0; v < values_; ++v) u(i, v) = multiply_add(u(i, v), weight, value(j, v));
        for (int64_t c = 0; c < keys_; ++c) w(i, c) = multiply_add(w(i, c), decayed, key(j, c));
      }
      for (int64_t c = 0; c < keys_; ++c) {
        const A taken = -w(i, c);
        for (int64_t v = 0; v < values_; ++v) u(i, v) = multiply_add(u(i, v), taken, state_(c, v));
      }
    }
    return u;
  }

  Matrix<A> overlaps() const {
    Matrix<A> lower = zeros(count_, count_);
    for (int64_t i = 0; i < count_; ++i) {
      for (int64_t j = 0; j < count_; ++j) {
        A dot(0.0);
        for (int64_t c = 0; c < keys_; ++c) dot = multiply_add(dot, key(i, c), key(j, c));
        if (j < i) lower(i, j) = write(i) * kept(i, j, 0) * dot;
      }
    }
    return lower;
  }

  // (I + lower)^-1 by forward substitution: c (c - 1) (c - 2) / 6 multiply-adds.
  Matrix<A> unit_lower_inverse(const Matrix<A>& lower) const {
    Matrix<A> inverse = zeros(count_, count_);
    for (int64_t i = 0; i < count_; ++i) {
      inverse(i, i) = A(1.0);
      for (int64_t j = 0; j < i; ++j) {
        A sum = lower(i, j);
        for (int64_t l = j + 1; l < i; ++l) sum = multiply_add(sum, lower(i, l), inverse(l, j));
        inverse(i, j) = -sum;
      }
    }
    return inverse;
  }

  // S <- e^(b_c) S + sum_j (e^(b_c - b_j) k_j)^T written_j.
  void advance(const Matrix<A>& written) {
    const int64_t last = count_ - 1;
    for (int64_t c = 0; c < keys_; ++c) {
      const A decay = exp_of(gates_(last, gate(c)));
      for (int64_t v = 0; v < values_; ++v) state_(c, v) = decay * state_(c, v);
      for (int64_t j = 0; j < count_; ++j) {
        const A decayed_key = kept(last, j, c) * key(j, c);
        for (int64_t v = 0; v < values_; ++v) {
          state_(c, v) = multiply_add(state_(c, v), decayed_key, written(j, v));
        }
      }
    }
  }

  Recurrence kind_;
  const Matrix<A>& q_;
  std::span<const RecurrentToken<A>> tokens_;
  State<A> state_;
  int64_t count_;
  int64_t keys_;
  int64_t values_;
  bool per_channel_ = false;
  Matrix<A> gates_;  // c x (K or 1)
};

}  // namespace orthros
