// DeviceModel: a model's weights in device memory, laid out for the kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda/linear/linear.hpp"
#include "cuda/support/device_buffer.hpp"
#include "reference/model/weight_source.hpp"
#include "reference/spec/model_spec.hpp"

namespace orthros::cuda {

// All bf16. Absent ones are null.
struct DeviceLayer {
  const bf16_bits* input_norm;  // D
  Weight qkv;                   // (Hq + 2 Hkv) d x D: W_Q, W_K, W_V one under the other
  const bf16_bits* query_norm;  // d
  const bf16_bits* key_norm;    // d
  const bf16_bits* alpha[2];    // Hq x d, by stream: base, output
  const bf16_bits* beta[2];     // Hq x d
  Weight output;                // D x Hq d
  const bf16_bits* post_norm;   // D
  Weight gate_up;               // 2 F' x D, interleaved as Linears::gated has it, F' = F up to 8
  Weight down;                  // D x F
};

// A spec that the engine runs: softmax layers with their own ungated KV, one shape throughout,
// plain or zero-centred norms. Throws InputError naming what it does not run.
void require_runnable(const ModelSpec& spec);

class DeviceModel {
 public:
  // Reads every tensor from the source; `progress`, if given, hears of elements read. Throws
  // InputError for a spec that the engine does not run, or weights that exceed the free memory.
  DeviceModel(const ModelSpec& spec, const WeightSource& source,
              const std::function<void(int64_t)>& progress = {});
  // Draws RandomWeights(seed)'s weights on the device, bit for bit.
  DeviceModel(const ModelSpec& spec, uint64_t seed);
  DeviceModel(DeviceModel&&) = default;

  ModelSpec spec;
  const bf16_bits* embedding = nullptr;  // vocab x D
  std::vector<DeviceLayer> layers;
  const bf16_bits* norm = nullptr;  // D
  Weight head;                      // vocab x D; the embedding where tied

  int64_t bytes() const { return bytes_; }
  // A tensor of tensor_table(spec) by its name, in its own shape.
  std::vector<bf16_bits> tensor(const std::string& name) const;

 private:
  struct Placement;  // where each tensor's rows lie in `memory_`

  explicit DeviceModel(const ModelSpec& spec);  // places the tensors, all zero

  std::shared_ptr<const Placement> placement_;
  DeviceBuffer<bf16_bits> memory_;
  int64_t bytes_ = 0;
};

// The device's copy of the weights as a source, so that the reference runs the very same. For one
// thread at a time.
class DeviceWeights : public WeightSource {
 public:
  explicit DeviceWeights(const DeviceModel& model) : model_(model) {}
  void read(const TensorInfo& tensor, int64_t first, std::span<double> out) const override;
  bool has(const std::string& name) const override;

 private:
  const DeviceModel& model_;
  mutable std::string held_name_;
  mutable std::vector<bf16_bits> held_;
};

}  // namespace orthros::cuda
