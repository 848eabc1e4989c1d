// Queries, keys, values and gates of a recurrent layer from its normed rows.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "reference/model/activations.hpp"
#include "reference/model/model.hpp"
#include "reference/model/recurrence.hpp"
#include "reference/model/step.hpp"

namespace orthros {

// Normalised and scaled as RecurrentToken wants them. Keys, values and gates exist for base rows
// only: an output copy has a query and nothing to write.
template <class A>
struct LinearInputs {
  Matrix<A> q;         // rows x Hk K
  Matrix<A> k;         // base rows x Hk K
  Matrix<A> v;         // base rows x Hv V
  Matrix<A> log_gate;  // base rows x Hv, or x Hk K where each key channel has its own
  Matrix<A> write;     // beta, base rows x Hv; gated delta
};

template <class S>
class LinearInputMaker {
 public:
  using A = Accumulator<S>;

  LinearInputMaker(const Step<S>& step, const LinearMixer& mixer,
                   const LinearMixerWeights<S>& weights, int64_t layer)
      : step_(step), mixer_(mixer), weights_(weights), layer_(layer) {}

  // n: RMSNorm(x), rows x D. Moves the convolution's inputs in the caches on.
  LinearInputs<A> operator()(const Matrix<S>& n) const {
    const Matrix<S> base = n.topRows(step_.base_rows);
    Matrix<S> q = weights_.query(n);
    Matrix<S> k = weights_.key(base);
    Matrix<S> v = weights_.value(base);
    if (mixer_.kind == Recurrence::gated_delta) {
      convolve(q, k, v);
      bypass_convolution(q);
    }
    step_.observe("q", layer_, q);
    step_.observe("k", layer_, k);
    step_.observe("v", layer_, v);
    LinearInputs<A> inputs{wide(q), wide(k), wide(v), log_gates(base), {}};
    prepare(inputs.q, true);
    prepare(inputs.k, false);
    if (mixer_.kind == Recurrence::gated_delta) {
      inputs.write = wide(weights_.write(base));
      for (A& beta : inputs.write.reshaped()) beta = sigmoid(beta);
      observe_wide("write", inputs.write);
    }
    observe_wide("log_gate", inputs.log_gate);
    return inputs;
  }

 private:
  void observe_wide(std::string_view name, const Matrix<A>& values) const {
    if (!step_.options.observer) return;
    step_.observe(name, layer_,
                  values.unaryExpr([](const A& value) { return static_cast<S>(value); }));
  }

  static Matrix<A> wide(const Matrix<S>& m) {
    return m.unaryExpr([](const S& value) { return widen(value); });
  }

  // silu(causal depthwise convolution) of the base rows' q, k and v. A document starts from zeros.
  void convolve(Matrix<S>& q, Matrix<S>& k, Matrix<S>& v) const {
    Matrix<S> inputs(step_.base_rows, mixer_.conv_channels());
    inputs << q.topRows(step_.base_rows), k, v;
    Matrix<S> outputs(inputs.rows(), inputs.cols());
    const int64_t kept = mixer_.conv_width - 1;
    int64_t row = 0;
    for (const Sequence<S>& sequence : step_.batch) {
      const auto tokens = static_cast<int64_t>(sequence.tokens.size());
      auto& cached =
          std::get<RecurrentState<S>>(sequence.cache->layers[static_cast<size_t>(layer_)])
              .conv_inputs;
      Matrix<S> line(kept + tokens, inputs.cols());  // the tokens before, then the new ones
      line << cached, inputs.middleRows(row, tokens);
      for (int64_t t = 0; t < tokens; ++t, ++row) {
        const Row& at = step_.rows[static_cast<size_t>(row)];
        const int64_t reach = at.entry - at.first;  // tokens of its document before it
        for (int64_t c = 0; c < inputs.cols(); ++c) {
          A sum(0.0);
          for (int64_t tap = 0; tap <= kept; ++tap) {
            const A input = kept - tap <= reach ? widen(line(t + tap, c)) : A(0.0);
            sum = multiply_add(sum, widen(weights_.taps(c, tap)), input);
          }
          outputs(row, c) = static_cast<S>(silu(sum));
        }
      }
      cached = line.bottomRows(kept);
    }
    q.topRows(step_.base_rows) = outputs.leftCols(q.cols());
    k = outputs.middleCols(q.cols(), k.cols());
    v = outputs.rightCols(v.cols());
  }

  // The output copy's query takes no part in the convolution (Orthros-H).
  void bypass_convolution(Matrix<S>& q) const {
    if (mixer_.copy_query == CopyQuery::none) return;
    for (int64_t r = step_.base_rows; r < q.rows(); ++r) {
      for (int64_t c = 0; c < q.cols(); ++c) {
        A value = widen(q(r, c));
        if (mixer_.copy_query == CopyQuery::last_tap) {
          value = value * widen(weights_.taps(c, mixer_.conv_width - 1));
        }
        q(r, c) = static_cast<S>(silu(value));
      }
    }
  }

  // Gated delta: L2 norm. Retention: RoPE. Queries are scaled by K^-1/2.
  void prepare(Matrix<A>& heads, bool queries) const {
    const int64_t width = mixer_.key_width;
    const A scale(static_cast<A>(1.0 / std::sqrt(static_cast<double>(width))));
    const auto rotary = mixer_.rope ? std::optional<Rotary>(*mixer_.rope) : std::nullopt;
    for (int64_t r = 0; r < heads.rows(); ++r) {
      for (int64_t at = 0; at < heads.cols(); at += width) {
        A* head = &heads(r, at);
        if (mixer_.kind == Recurrence::gated_delta) l2_normalise(head, width);
        if (rotary) rotary->rotate<S>(head, step_.rows[static_cast<size_t>(r)].position);
        if (!queries) continue;
        for (int64_t i = 0; i < width; ++i) head[i] = head[i] * scale;
      }
    }
  }

  Matrix<A> log_gates(const Matrix<S>& base) const {
    Matrix<A> gates;
    switch (mixer_.kind) {
      case Recurrence::retention:
        gates.resize(base.rows(), mixer_.value_heads);
        for (int64_t r = 0; r < gates.rows(); ++r) {
          for (int64_t h = 0; h < gates.cols(); ++h) {
            gates(r, h) = A(static_cast<A>(retention_log_gate(h)));
          }
        }
        break;
      case Recurrence::gated_retention:  // gamma_h = sigmoid(x w_h)^(1/16)
        gates = wide(weights_.decay(base));
        for (A& gate : gates.reshaped()) gate = log_sigmoid(gate) / A(16.0);
        break;
      case Recurrence::gated_linear:  // logsigmoid(x W1 W2 + b) / 16
        gates = wide(weights_.gate_up(weights_.gate_down(base)));
        for (int64_t r = 0; r < gates.rows(); ++r) {
          for (int64_t i = 0; i < gates.cols(); ++i) {
            gates(r, i) = log_sigmoid(A(gates(r, i) + widen(weights_.gate_bias(i)))) / A(16.0);
          }
        }
        break;
      case Recurrence::gated_delta:  // -exp(A_log) softplus(x W_a + dt_bias)
        gates = wide(weights_.decay(base));
        for (int64_t r = 0; r < gates.rows(); ++r) {
          for (int64_t h = 0; h < gates.cols(); ++h) gates(r, h) = delta_gate(gates(r, h), h);
        }
        break;
    }
    return gates;
  }
  A delta_gate(const A& projected, int64_t head) const {
    using std::exp;
    const A rate = exp(widen(weights_.decay_log(head)));
    return -(rate * softplus(A(projected + widen(weights_.decay_bias(head)))));
  }

  const Step<S>& step_;
  const LinearMixer& mixer_;
  const LinearMixerWeights<S>& weights_;
  int64_t layer_;
};

}  // namespace orthros
