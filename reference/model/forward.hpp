// forward(model, cache, tokens, output positions): the one function behind all four modes.
#pragma once

#include <algorithm>
#include <span>
#include <stdexcept>
#include <vector>

#include "reference/model/cache.hpp"
#include "reference/model/fault.hpp"
#include "reference/model/linear_layer.hpp"
#include "reference/model/model.hpp"
#include "reference/model/norm.hpp"
#include "reference/model/operations.hpp"
#include "reference/model/plan_rows.hpp"
#include "reference/model/softmax_layer.hpp"
#include "reference/model/step.hpp"
#include "reference/model/swiglu.hpp"

namespace orthros {

// Logits of a sequence, one row per output position in the order asked: outputs x vocab.
template <class S>
using Logits = Matrix<Accumulator<S>>;

template <class S, Fault F>
class Forward {
 public:
  Forward(const Model<S>& model, std::span<const Sequence<S>> batch,
          const ForwardOptions<S>& options)
      : model_(model), step_{model.spec, batch, options, {}, 0} {
    Operations<S>::check(model.spec);
    for (const Sequence<S>& sequence : batch) check_sequence(model.spec, sequence);
    for (const Sequence<S>& sequence : batch) append_tokens(sequence);
    plan_rows<S, F>(step_);
  }

  std::vector<Logits<S>> operator()() {
    Matrix<S> x = embed();
    const int64_t self_layers = model_.spec.self_layers();
    const auto layers = static_cast<int64_t>(model_.spec.layers.size());
    for (int64_t i = 0; i < self_layers; ++i) layer(i, i, x);
    if (self_layers < layers) write_shared_kv(x);
    if (model_.spec.streams == Streams::single) x = keep_outputs(x);
    for (int64_t i = self_layers; i < layers; ++i) layer(i, self_layers, x);
    return logits(x);
  }

 private:
  // x_t and x'_t start as the same embedding.
  Matrix<S> embed() const {
    Matrix<S> x(static_cast<int64_t>(step_.rows.size()), model_.spec.hidden);
    for (size_t r = 0; r < step_.rows.size(); ++r) {
      const Row& row = step_.rows[r];
      const Cache<S>& cache = *step_.batch[static_cast<size_t>(row.sequence)].cache;
      const int64_t token = cache.tokens[static_cast<size_t>(row.entry)];
      for (int64_t i = 0; i < x.cols(); ++i) {
        x(static_cast<int64_t>(r), i) = entering(model_.embedding(token, i), row);
      }
    }
    step_.observe("embedding", -1, x);
    return x;
  }

  // x = x + mixer(RMSNorm(x)); x = x + SwiGLU(RMSNorm(x)).
  void layer(int64_t i, int64_t cache_layer, Matrix<S>& x) const {
    const ModelSpec& spec = model_.spec;
    const LayerWeights<S>& weights = model_.layers[static_cast<size_t>(i)];
    const Matrix<S> n = rms_norm(x, weights.input_norm, spec.norm, spec.norm_eps);
    step_.observe("normed", i, n);
    add_residual(x, mix(i, cache_layer, n));
    const Matrix<S> m = rms_norm(x, weights.post_norm, spec.norm, spec.norm_eps);
    add_residual(x, swiglu(weights, m));
    step_.observe("residual", i, x);
  }

  Matrix<S> mix(int64_t i, int64_t cache_layer, const Matrix<S>& n) const {
    const Mixer& mixer = model_.spec.layers[static_cast<size_t>(i)].mixer;
    const auto& weights = model_.layers[static_cast<size_t>(i)].mixer;
    if (const auto* softmax = std::get_if<SoftmaxAttention>(&mixer)) {
      return SoftmaxLayer<S, F>(step_, *softmax, std::get<SoftmaxWeights<S>>(weights), i,
                                cache_layer)(n);
    }
    if constexpr (Operations<S>::recurrent) {
      return LinearLayer<S>(step_, std::get<LinearMixer>(mixer),
                            std::get<LinearMixerWeights<S>>(weights), i)(n);
    } else {
      throw std::logic_error("a recurrent layer in a scalar that has none");
    }
  }

  // The decoder-decoder's K and V, projected once from RMSNorm(X^{L/2}).
  void write_shared_kv(const Matrix<S>& x) const {
    const ModelSpec& spec = model_.spec;
    const SharedKvWeights<S>& shared = *model_.shared_kv;
    const int64_t at = spec.self_layers();
    const auto& mixer = std::get<SoftmaxAttention>(spec.layers[static_cast<size_t>(at)].mixer);
    const SoftmaxWeights<S> none;
    SoftmaxLayer<S, F>(step_, mixer, none, at, at)
        .write_kv(rms_norm(x, shared.norm, spec.norm, spec.norm_eps), shared.key, shared.value,
                  shared.key_norm);
  }

  // A single stream goes on from its base rows at the output positions, which the layers behind
  // (a decoder-decoder's cross layers, or none) read as rows that write nothing.
  Matrix<S> keep_outputs(const Matrix<S>& x) {
    std::vector<Row> kept;
    std::vector<int64_t> sources;
    int64_t first_row = 0;
    for (size_t s = 0; s < step_.batch.size(); ++s) {
      const Sequence<S>& sequence = step_.batch[s];
      const auto tokens = static_cast<int64_t>(sequence.tokens.size());
      const int64_t before = sequence.cache->length() - tokens;
      for (const int64_t position : sequence.outputs) {
        sources.push_back(first_row + position - 1 - before);
        kept.push_back(step_.rows[static_cast<size_t>(sources.back())]);
      }
      first_row += tokens;
    }
    Matrix<S> rows(static_cast<int64_t>(kept.size()), x.cols());
    for (size_t r = 0; r < sources.size(); ++r) {
      rows.row(static_cast<int64_t>(r)) = x.row(sources[r]);
    }
    step_.rows = std::move(kept);
    step_.base_rows = 0;
    return rows;
  }

  // RMSNorm(x'_t) W_head at the output rows, cut into sequences.
  std::vector<Logits<S>> logits(const Matrix<S>& x) const {
    const ModelSpec& spec = model_.spec;
    const Matrix<S> outputs = x.bottomRows(x.rows() - step_.base_rows);
    const Matrix<S> n = rms_norm(outputs, model_.norm, spec.norm, spec.norm_eps);
    step_.observe("final_normed", -1, n);
    const Logits<S> all = model_.head.template operator()<Accumulator<S>>(n);
    std::vector<Logits<S>> result;
    int64_t row = 0;
    for (const Sequence<S>& sequence : step_.batch) {
      const auto count = static_cast<int64_t>(sequence.outputs.size());
      result.push_back(all.middleRows(row, count));
      row += count;
    }
    return result;
  }

  const Model<S>& model_;
  Step<S> step_;
};

// Appends each sequence's tokens to its cache and returns its logits at the output positions.
// Results do not depend on how tokens are split over calls, on the other sequences of the batch,
// nor on the number of threads. Bad tokens or positions: InputError, with no cache changed.
template <class S, Fault F = configured_fault>
std::vector<Logits<S>> forward(const Model<S>& model, std::span<const Sequence<S>> batch,
                               const ForwardOptions<S>& options = {}) {
  return Forward<S, F>(model, batch, options)();
}

// The same for a single sequence.
template <class S, Fault F = configured_fault>
Logits<S> forward(const Model<S>& model, Cache<S>& cache, std::span<const int64_t> tokens,
                  std::span<const int64_t> outputs, const ForwardOptions<S>& options = {}) {
  const Sequence<S> sequence{&cache, tokens, outputs};
  return forward<S, F>(model, std::span(&sequence, 1), options)[0];
}

extern template class Forward<double, configured_fault>;
extern template class Forward<float, configured_fault>;
extern template class Forward<bfloat16, configured_fault>;

}  // namespace orthros
