// The four modes, each a choice of output positions for forward; and greedy generation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "reference/model/forward_chunked.hpp"

namespace orthros {

// -log softmax(logits)[target] of one row, in double.
template <class A>
double cross_entropy(const Eigen::Ref<const Matrix<A>>& row, int64_t target) {
  double most = static_cast<double>(row(0, 0));
  for (int64_t i = 1; i < row.cols(); ++i) most = std::max(most, static_cast<double>(row(0, i)));
  double sum = 0.0;
  for (int64_t i = 0; i < row.cols(); ++i) sum += std::exp(static_cast<double>(row(0, i)) - most);
  return most + std::log(sum) - static_cast<double>(row(0, target));
}

// A training step's forward: which positions predicted, and the mean cross-entropy over them.
struct Loss {
  std::vector<int64_t> positions;  // from 1
  std::vector<double> each;        // cross-entropy at each
  double mean() const {
    return std::accumulate(each.begin(), each.end(), 0.0) / static_cast<double>(each.size());
  }
};

// Cross-entropy at `positions`, each predicting the token behind it; the last token's position
// predicts `end`. Throws InputError where nothing is predicted, or `end` is no id.
template <class S, Fault F = configured_fault>
Loss loss_at(const Model<S>& model, std::span<const int64_t> tokens, std::vector<int64_t> positions,
             std::optional<int64_t> end, const ForwardOptions<S>& options = {}) {
  if (positions.empty()) throw InputError("loss", "positions", "expected at least one, got none");
  const auto last = static_cast<int64_t>(tokens.size());
  if (!end && std::find(positions.begin(), positions.end(), last) != positions.end()) {
    throw InputError("loss", "positions",
                     fmt::format("expected none at {} without an end token to predict", last));
  }
  if (end && (*end < 0 || *end >= model.spec.vocab)) {
    throw InputError(
        "end", "", fmt::format("expected an id from 0 to {}, got {}", model.spec.vocab - 1, *end));
  }
  Cache<S> cache(model.spec);
  const Logits<S> logits = forward<S, F>(model, cache, tokens, positions, options);
  Loss loss{std::move(positions), {}};
  for (size_t i = 0; i < loss.positions.size(); ++i) {
    const auto next = static_cast<size_t>(loss.positions[i]);
    const int64_t target = next < tokens.size() ? tokens[next] : end.value();
    loss.each.push_back(cross_entropy<Accumulator<S>>(logits.row(static_cast<int64_t>(i)), target));
  }
  return loss;
}

// Positions first..last of a sequence of `length` tokens that have something to predict: the last
// token's only with an end token behind it.
inline std::vector<int64_t> predicting_positions(int64_t first, int64_t length, bool with_end) {
  std::vector<int64_t> positions(
      static_cast<size_t>(std::max<int64_t>(length - first + (with_end ? 1 : 0), 0)));
  std::iota(positions.begin(), positions.end(), first);
  return positions;
}

// Pretraining: every position predicts.
template <class S, Fault F = configured_fault>
Loss pretrain(const Model<S>& model, std::span<const int64_t> tokens, std::optional<int64_t> end,
              const ForwardOptions<S>& options = {}) {
  const auto length = static_cast<int64_t>(tokens.size());
  return loss_at<S, F>(model, tokens, predicting_positions(1, length, end.has_value()), end,
                       options);
}

// Fine-tuning: the answer's R tokens behind `prompt` tokens are predicted, and the end token, so
// T_out is R + 1 (R without an end token); the prompt builds memory only.
template <class S, Fault F = configured_fault>
Loss fine_tune(const Model<S>& model, std::span<const int64_t> tokens, int64_t prompt,
               std::optional<int64_t> end, const ForwardOptions<S>& options = {}) {
  const auto length = static_cast<int64_t>(tokens.size());
  if (prompt < 1 || prompt > length) {
    throw InputError("prompt", "", fmt::format("expected 1 to {}, got {}", length, prompt));
  }
  return loss_at<S, F>(model, tokens, predicting_positions(prompt, length, end.has_value()), end,
                       options);
}

// Prefill: the prompt builds memory, its last position predicts. Result: 1 x vocab.
template <class S, Fault F = configured_fault>
Logits<S> prefill(const Model<S>& model, Cache<S>& cache, std::span<const int64_t> prompt,
                  int64_t chunk = 0, const ForwardOptions<S>& options = {}) {
  const int64_t last = cache.length() + static_cast<int64_t>(prompt.size());
  return forward_chunked<S, F>(model, cache, prompt, std::span(&last, 1), chunk, options);
}

// Decode: one token enters, and predicts. Result: 1 x vocab.
template <class S, Fault F = configured_fault>
Logits<S> decode(const Model<S>& model, Cache<S>& cache, int64_t token,
                 const ForwardOptions<S>& options = {}) {
  const int64_t position = cache.length() + 1;
  return forward<S, F>(model, cache, std::span(&token, 1), std::span(&position, 1), options);
}

// The largest logit's id, the lowest among equals.
template <class A>
int64_t argmax(const Matrix<A>& logits, int64_t row) {
  int64_t best = 0;
  for (int64_t i = 1; i < logits.cols(); ++i) {
    if (logits(row, i) > logits(row, best)) best = i;
  }
  return best;
}

// Greedy: at most `count` tokens (one prefill and count - 1 decode steps), fewer where one of
// spec.eos comes up; that one is the last of the result. `on_token` hears of each as it comes.
template <class S, Fault F = configured_fault>
std::vector<int64_t> generate(const Model<S>& model, Cache<S>& cache,
                              std::span<const int64_t> prompt, int64_t count, int64_t chunk = 0,
                              const ForwardOptions<S>& options = {},
                              const std::function<void(int64_t)>& on_token = {}) {
  std::vector<int64_t> generated;
  if (count <= 0) return generated;
  Logits<S> logits = prefill<S, F>(model, cache, prompt, chunk, options);
  while (true) {
    const int64_t token = argmax(logits, 0);
    generated.push_back(token);
    if (on_token) on_token(token);
    const auto& eos = model.spec.eos;
    const bool ended = std::find(eos.begin(), eos.end(), token) != eos.end();
    if (ended || static_cast<int64_t>(generated.size()) >= count) return generated;
    logits = decode<S, F>(model, cache, token, options);
  }
}

}  // namespace orthros
