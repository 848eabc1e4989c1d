// The softmax mixer of a layer over a step's rows: projections, qk-norm, scale-offset, RoPE, cache
// and attention, in the order of DESIGN's equations.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/model/model.hpp"
#include "reference/model/norm.hpp"
#include "reference/model/operations.hpp"
#include "reference/model/parallel.hpp"
#include "reference/model/softmax_attention.hpp"
#include "reference/model/softmax_entries.hpp"
#include "reference/model/step.hpp"

namespace orthros {

template <class S, Fault F>
class SoftmaxLayer {
 public:
  using A = Accumulator<S>;

  // `kv_layer`: which entry of the caches holds this layer's keys and values.
  SoftmaxLayer(const Step<S>& step, const SoftmaxAttention& mixer, const SoftmaxWeights<S>& weights,
               int64_t layer, int64_t kv_layer)
      : step_(step), mixer_(mixer), weights_(weights), layer_(layer), kv_layer_(kv_layer) {
    if (mixer.rope) rotary_.emplace(*mixer.rope);
  }

  // n: RMSNorm(x), rows x D. Appends the base rows' K and V to the caches and returns
  // softmax attention's o W_O, rows x D.
  Matrix<S> operator()(const Matrix<S>& n) const {
    if (mixer_.kv == KvSource::own) write_kv(n, weights_.key, weights_.value, weights_.key_norm);
    const Matrix<S> projected = weights_.query(n);
    const Matrix<S> q = queries(projected);
    step_.observe("q", layer_, q);
    Matrix<S> o = attention(q);
    if (mixer_.gated) apply_gate(projected, o);
    step_.observe("attention", layer_, o);
    return weights_.output(o);
  }

  // k_t = RoPE_t(qknorm(n W_K)), v_t = n W_V of the base rows, into the caches. Only the base
  // stream writes.
  void write_kv(const Matrix<S>& n, const Linear<S>& key, const Linear<S>& value,
                const Vector<S>& key_norm) const {
    int64_t writers = step_.base_rows;
    if constexpr (F == Fault::copy_writes_cache) writers = n.rows();
    const Matrix<S> source = n.topRows(writers);
    Matrix<S> k = key(source);
    Matrix<S> v = value(source);
    for (int64_t r = 0; r < writers; ++r) {
      const Row& row = step_.rows[static_cast<size_t>(r)];
      for (int64_t h = 0; h < mixer_.kv_heads; ++h) {
        const std::vector<A> head = normed(&k(r, h * mixer_.head_width), key_norm);
        store(rotated(head, row), &k(r, h * mixer_.head_width));
      }
    }
    if (step_.options.round_kv) step_.options.round_kv(kv_layer_, k, v);
    for (int64_t r = 0; r < writers; ++r) {
      const Row& row = step_.rows[static_cast<size_t>(r)];
      auto& kv = std::get<KvCache<S>>(step_.cache_of(row, kv_layer_));
      kv.keys.row(row.entry) = k.row(r);
      kv.values.row(row.entry) = v.row(r);
    }
    step_.observe("k", layer_, k);
    step_.observe("v", layer_, v);
  }

 private:
  // q_t = RoPE_t(alpha qknorm(n W_Q) + beta), with alpha', beta' in the output stream.
  Matrix<S> queries(const Matrix<S>& projected) const {
    const int64_t d = mixer_.head_width;
    const int64_t stride = mixer_.gated ? 2 * d : d;  // gated: per head [q | gate]
    Matrix<S> q(projected.rows(), mixer_.query_width());
    for (int64_t r = 0; r < q.rows(); ++r) {
      const Row& row = step_.rows[static_cast<size_t>(r)];
      for (int64_t h = 0; h < mixer_.query_heads; ++h) {
        const S* head = &projected(r, h * stride);
        std::vector<A> value;
        if (mixer_.scale_offset == ScaleOffset::before_qk_norm) {
          value = normed(scaled(plain(head), row, h), weights_.query_norm);
        } else {
          value = normed(head, weights_.query_norm);
          if (mixer_.scale_offset == ScaleOffset::after_qk_norm) value = scaled(value, row, h);
        }
        store(rotated(value, row), &q(r, h * d));
      }
    }
    return q;
  }

  // o_t over the row's visible keys, every query head reading KV head h / (Hq / Hkv).
  Matrix<S> attention(const Matrix<S>& q) const {
    const int64_t d = mixer_.head_width;
    const int64_t group = mixer_.query_heads / mixer_.kv_heads;
    Matrix<S> o(q.rows(), q.cols());
    int64_t keys_read = 0;
    for (const Row& row : step_.rows) {
      const KeyRange range = visible(row);
      keys_read += range.end - range.begin;
    }
    const auto entries =
        entries_read(step_, mixer_, kv_layer_, [&](const Row& row) { return visible(row); });
    parallel_for(q.rows(), 2 * keys_read * mixer_.query_width(), [&](int64_t r) {
      const Row& row = step_.rows[static_cast<size_t>(r)];
      for (int64_t h = 0; h < mixer_.kv_heads; ++h) {
        const int64_t at = h * group * d;
        Operations<S>::attend(&q(r, at), group,
                              entries[static_cast<size_t>(row.sequence * mixer_.kv_heads + h)],
                              visible(row), &o(r, at));
      }
    });
    return o;
  }

  KeyRange visible(const Row& row) const {
    const auto& kv = std::get<KvCache<S>>(step_.cache_of(row, kv_layer_));
    return visible_keys<F>(row, mixer_.window, kv.keys.rows());
  }

  // attention * sigmoid(gate), the gate from the row's own stream.
  void apply_gate(const Matrix<S>& projected, Matrix<S>& o) const {
    const int64_t d = mixer_.head_width;
    for (int64_t r = 0; r < o.rows(); ++r) {
      for (int64_t i = 0; i < o.cols(); ++i) {
        const A gate = widen(projected(r, i / d * 2 * d + d + i % d));
        o(r, i) = static_cast<S>(widen(o(r, i)) * Operations<S>::sigmoid(gate));
      }
    }
  }

  std::vector<A> plain(const S* head) const {
    std::vector<A> value(static_cast<size_t>(mixer_.head_width), A(0.0));
    for (size_t i = 0; i < value.size(); ++i) value[i] = widen(head[i]);
    return value;
  }

  // qk-norm of a head, where the model has it.
  template <class T>
  std::vector<A> normed(const T* head, const Vector<S>& gain) const {
    std::vector<A> value(static_cast<size_t>(mixer_.head_width), A(0.0));
    for (size_t i = 0; i < value.size(); ++i) value[i] = static_cast<A>(head[i]);
    if (!mixer_.qk_norm) return value;
    const A inverse = Operations<S>::inverse_rms(head, mixer_.head_width, step_.spec.norm_eps);
    for (size_t i = 0; i < value.size(); ++i) {
      value[i] = value[i] * inverse * norm_gain(gain(static_cast<int64_t>(i)), step_.spec.norm);
    }
    return value;
  }
  std::vector<A> normed(const std::vector<A>& head, const Vector<S>& gain) const {
    return normed(head.data(), gain);
  }

  std::vector<A> scaled(std::vector<A> head, const Row& row, int64_t h) const {
    bool output = row.stream == Stream::output;
    if constexpr (F == Fault::scale_offset_swapped) output = !output;
    const StreamScale<S>& scale = output ? weights_.output_scale : weights_.base;
    for (size_t i = 0; i < head.size(); ++i) {
      const auto column = static_cast<int64_t>(i);
      head[i] = Operations<S>::scale_offset(widen(scale.alpha(h, column)), head[i],
                                            widen(scale.beta(h, column)));
    }
    return head;
  }

  std::vector<A> rotated(std::vector<A> head, const Row& row) const {
    if (rotary_) rotary_->rotate<S>(head.data(), row.position);
    return head;
  }

  static void store(const std::vector<A>& head, S* out) {
    for (size_t i = 0; i < head.size(); ++i) out[i] = static_cast<S>(head[i]);
  }

  const Step<S>& step_;
  const SoftmaxAttention& mixer_;
  const SoftmaxWeights<S>& weights_;
  int64_t layer_;
  int64_t kv_layer_;
  std::optional<Rotary> rotary_;
};

}  // namespace orthros
