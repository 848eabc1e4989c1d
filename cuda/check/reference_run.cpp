// Runs the reference.
#include "cuda/check/reference_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reference/hopper/kv_rounding.hpp"
#include "reference/hopper/rounding.hpp"
#include "reference/model/modes.hpp"

namespace orthros::cuda {
namespace {

template <class S>
struct Ran {
  std::vector<Logits<S>> logits;
  std::vector<Cache<S>> caches;
};

template <class S>
Ran<S> run(const Model<S>& model, std::span<const SequencePlan> plans,
           const ForwardOptions<S>& options = {}) {
  Ran<S> ran{{}, std::vector<Cache<S>>(plans.size(), Cache<S>(model.spec))};
  std::vector<Sequence<S>> batch;
  for (size_t i = 0; i < plans.size(); ++i) {
    batch.push_back({&ran.caches[i], plans[i].tokens, plans[i].outputs});
  }
  ran.logits = forward<S>(model, std::span<const Sequence<S>>(batch), options);
  return ran;
}

template <class T>
void append(const Matrix<T>& matrix, std::vector<double>& values) {
  for (int64_t i = 0; i < matrix.size(); ++i) {
    values.push_back(static_cast<double>(matrix.data()[i]));
  }
}

template <class S>
RealRun real(const ModelSpec& spec, const WeightSource& weights,
             std::span<const SequencePlan> plans) {
  const Ran<S> ran = run(load_model<S>(spec, weights), plans);
  RealRun result;
  for (size_t s = 0; s < plans.size(); ++s) {
    append(ran.logits[s], result.logits);
    for (const auto& layer : ran.caches[s].layers) {
      append(std::get<KvCache<S>>(layer).keys, result.keys);
      append(std::get<KvCache<S>>(layer).values, result.values);
    }
  }
  return result;
}

std::vector<bf16_bits> bits_of_matrix(const Matrix<Hopper>& matrix) {
  return {bits_of(matrix.data()), bits_of(matrix.data()) + matrix.size()};
}

}  // namespace

RealRun real_run(const RunRecord& run) {
  RealRun result;
  const auto widen_all = [](const std::vector<bf16_bits>& bits, std::vector<double>& values) {
    for (const bf16_bits entry : bits) {
      values.push_back(static_cast<double>(hopper::widen_bf16(entry)));
    }
  };
  for (const SequenceRecord& sequence : run) {
    for (const auto& row : sequence.logits) {
      result.logits.insert(result.logits.end(), row.begin(), row.end());
    }
    for (size_t layer = 0; layer < sequence.keys.size(); ++layer) {
      widen_all(sequence.keys[layer], result.keys);
      widen_all(sequence.values[layer], result.values);
    }
  }
  return result;
}

RunRecord hopper_run(const Model<Hopper>& model, std::span<const SequencePlan> plans,
                     const hopper::KvScales* scales) {
  ForwardOptions<Hopper> options;
  if (scales != nullptr) {
    options.round_kv = [&](int64_t layer, Matrix<Hopper>& keys, Matrix<Hopper>& values) {
      hopper::round_to_entries(*scales, layer, false, keys);
      hopper::round_to_entries(*scales, layer, true, values);
    };
  }
  const Ran<Hopper> ran = run(model, plans, options);
  RunRecord record;
  for (size_t s = 0; s < plans.size(); ++s) {
    SequenceRecord& sequence = record.emplace_back();
    sequence.positions = plans[s].outputs;
    const Matrix<float>& logits = ran.logits[s];
    for (int64_t row = 0; row < logits.rows(); ++row) {
      const float* first = logits.data() + row * logits.cols();
      sequence.logits.emplace_back(first, first + logits.cols());
      sequence.predicted.push_back(argmax(logits, row));
    }
    for (const auto& layer : ran.caches[s].layers) {
      sequence.keys.push_back(bits_of_matrix(std::get<KvCache<Hopper>>(layer).keys));
      sequence.values.push_back(bits_of_matrix(std::get<KvCache<Hopper>>(layer).values));
    }
  }
  return record;
}

RealRun double_run(const ModelSpec& spec, const WeightSource& weights,
                   std::span<const SequencePlan> plans) {
  return real<double>(spec, weights, plans);
}

RealRun bf16_run(const ModelSpec& spec, const WeightSource& weights,
                 std::span<const SequencePlan> plans) {
  return real<bfloat16>(spec, weights, plans);
}

const Model<Hopper>& HopperModels::load(const ModelSpec& spec, uint64_t seed,
                                        const WeightSource& weights) {
  std::string key = fmt::format("{}", seed);
  for (const TensorInfo& tensor : tensor_table(spec)) {
    key += fmt::format(" {} {}", tensor.name, fmt::join(tensor.shape, "x"));
  }
  if (!held_ || key != key_) {
    held_.reset();  // before the next takes memory
    held_ = load_model<Hopper>(spec, weights);
    key_ = std::move(key);
  }
  held_->spec = spec;
  return *held_;
}

}  // namespace orthros::cuda
