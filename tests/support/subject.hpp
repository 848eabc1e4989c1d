// What a property is said of: the model in one scalar, with one seeded fault, its types erased.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "reference/model/modes.hpp"
#include "reference/model/weight_source.hpp"

namespace orthros {

// A layer's memory, widened to double, which every scalar fits in without loss.
struct LayerMemory {
  Matrix<double> keys, values;        // softmax layers: tokens x Hkv d
  Matrix<double> state, conv_inputs;  // recurrent layers: (Hv K) x V, (taps - 1) x channels
};
using Memory = std::vector<LayerMemory>;

class AnyCache {
 public:
  virtual ~AnyCache() = default;
  virtual std::unique_ptr<AnyCache> fork() const = 0;
  virtual void truncate(int64_t length) = 0;
  virtual int64_t length() const = 0;
  virtual int64_t kv_bytes() const = 0;
  virtual Memory memory() const = 0;
  virtual void shift_positions(int64_t shift) = 0;
  virtual void fill_conv_inputs(double value) = 0;
};

// One sequence's part of a batch, owning what forward takes as spans.
struct Part {
  AnyCache* cache = nullptr;
  std::vector<int64_t> tokens;
  std::vector<int64_t> outputs;
  std::vector<int64_t> documents = {};
};

class AnyModel {
 public:
  virtual ~AnyModel() = default;
  virtual const ModelSpec& spec() const = 0;
  virtual std::unique_ptr<AnyCache> new_cache() const = 0;
  // Logits of each part, outputs x vocab, widened. An observer sees every intermediate widened.
  virtual std::vector<Matrix<double>> forward(std::span<const Part> batch,
                                              const ForwardOptions<double>& options) const = 0;
  virtual Loss pretrain(std::span<const int64_t> tokens, std::optional<int64_t> end) const = 0;
  virtual Loss fine_tune(std::span<const int64_t> tokens, int64_t prompt,
                         std::optional<int64_t> end) const = 0;
};

struct Subject {
  std::string name;
  int64_t scalar_bytes;
  std::unique_ptr<AnyModel> (*load)(const ModelSpec& spec, const WeightSource& weights);
};

// The library as it was built, fault and all, in each scalar.
const Subject& double_subject();
const std::vector<Subject>& every_subject();

// The double reference with `fault`, whatever the build has.
Subject mutant(Fault fault);

}  // namespace orthros
