// The reference's side of a case: in the engine's arithmetic, in double, in bf16.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cuda/check/record.hpp"
#include "reference/hopper/forward.hpp"
#include "reference/hopper/kv_scales.hpp"
#include "reference/weights/bfloat16.hpp"

namespace orthros::cuda {

// All of a run's numbers, sequence by sequence and layer by layer.
struct RealRun {
  std::vector<double> logits, keys, values;
};
RealRun real_run(const RunRecord& run);

// Another source's weights rounded to bf16, which is what the engine runs.
class RoundedWeights : public WeightSource {
 public:
  explicit RoundedWeights(std::shared_ptr<const WeightSource> source)
      : source_(std::move(source)) {}
  void read(const TensorInfo& tensor, int64_t first, std::span<double> out) const override {
    source_->read(tensor, first, out);
    for (double& value : out) value = static_cast<double>(bfloat16(value));
  }
  bool has(const std::string& name) const override { return source_->has(name); }

 private:
  std::shared_ptr<const WeightSource> source_;
};

// Each sequence whole, predicting at its outputs; over caches of e4m3 entries where there are
// scales.
RunRecord hopper_run(const Model<Hopper>& model, std::span<const SequencePlan> plans,
                     const hopper::KvScales* scales = nullptr);
RealRun double_run(const ModelSpec& spec, const WeightSource& weights,
                   std::span<const SequencePlan> plans);
RealRun bf16_run(const ModelSpec& spec, const WeightSource& weights,
                 std::span<const SequencePlan> plans);

// Loads models in the engine's arithmetic and keeps the last: a large one serves several cases.
class HopperModels {
 public:
  // `seed` and the tensors' names and shapes say whether it is the one that is held.
  const Model<Hopper>& load(const ModelSpec& spec, uint64_t seed, const WeightSource& weights);
  void forget() { held_.reset(); }

 private:
  std::string key_;
  std::optional<Model<Hopper>> held_;
};

}  // namespace orthros::cuda
