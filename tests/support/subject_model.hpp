// A subject's model and cache: thin wrappers that widen to double what goes out.
#pragma once

#include <memory>
#include <vector>

#include "reference/model/load_model.hpp"
#include "tests/support/subject.hpp"

namespace orthros {

template <class T>
Matrix<double> widened(const Matrix<T>& values) {
  return values.unaryExpr([](const T& value) { return static_cast<double>(value); });
}

template <class S>
class SubjectCache : public AnyCache {
 public:
  explicit SubjectCache(Cache<S> cache) : cache_(std::move(cache)) {}

  std::unique_ptr<AnyCache> fork() const override { return std::make_unique<SubjectCache>(cache_); }
  void truncate(int64_t length) override { cache_.truncate(length); }
  int64_t length() const override { return cache_.length(); }
  int64_t kv_bytes() const override { return cache_.kv_bytes(); }
  void shift_positions(int64_t shift) override { cache_.position_shift = shift; }

  Memory memory() const override {
    Memory memory;
    for (const auto& layer : cache_.layers) {
      LayerMemory& here = memory.emplace_back();
      if (const auto* kv = std::get_if<KvCache<S>>(&layer)) {
        here.keys = widened(kv->keys);
        here.values = widened(kv->values);
      } else {
        const auto& recurrent = std::get<RecurrentState<S>>(layer);
        here.state = widened(recurrent.state);
        here.conv_inputs = widened(recurrent.conv_inputs);
      }
    }
    return memory;
  }

  void fill_conv_inputs(double value) override {
    for (auto& layer : cache_.layers) {
      if (auto* recurrent = std::get_if<RecurrentState<S>>(&layer)) {
        recurrent->conv_inputs.fill(S(static_cast<Accumulator<S>>(value)));
      }
    }
  }

  Cache<S>& get() { return cache_; }

 private:
  Cache<S> cache_;
};

template <class S, Fault F>
class SubjectModel : public AnyModel {
 public:
  SubjectModel(const ModelSpec& spec, const WeightSource& weights)
      : model_(load_model<S>(spec, weights)) {}

  static std::unique_ptr<AnyModel> load(const ModelSpec& spec, const WeightSource& weights) {
    return std::make_unique<SubjectModel>(spec, weights);
  }

  const ModelSpec& spec() const override { return model_.spec; }

  std::unique_ptr<AnyCache> new_cache() const override {
    return std::make_unique<SubjectCache<S>>(Cache<S>(model_.spec));
  }

  std::vector<Matrix<double>> forward(std::span<const Part> batch,
                                      const ForwardOptions<double>& options) const override {
    std::vector<Sequence<S>> sequences;
    for (const Part& part : batch) {
      auto& cache = dynamic_cast<SubjectCache<S>&>(*part.cache).get();
      sequences.push_back({&cache, part.tokens, part.outputs, part.documents});
    }
    ForwardOptions<S> typed{options.form, options.chunk, {}};
    if (options.observer) {
      typed.observer = [&](std::string_view name, int64_t layer, const Matrix<S>& rows) {
        options.observer(name, layer, widened(rows));
      };
    }
    std::vector<Matrix<double>> logits;
    const std::span<const Sequence<S>> all = sequences;
    for (const auto& each : orthros::forward<S, F>(model_, all, typed)) {
      logits.push_back(widened(each));
    }
    return logits;
  }

  Loss pretrain(std::span<const int64_t> tokens, std::optional<int64_t> end) const override {
    return orthros::pretrain<S, F>(model_, tokens, end);
  }
  Loss fine_tune(std::span<const int64_t> tokens, int64_t prompt,
                 std::optional<int64_t> end) const override {
    return orthros::fine_tune<S, F>(model_, tokens, prompt, end);
  }

 private:
  Model<S> model_;
};

}  // namespace orthros
