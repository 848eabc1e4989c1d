// Where weights come from: a checkpoint's files, or a seed.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "reference/spec/tensor_table.hpp"
#include "reference/weights/checkpoint_files.hpp"

namespace orthros {

class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // Fills `out` with the tensor's elements from row-major element `first` on. Throws InputError
  // naming the tensor where it is absent or of another shape.
  virtual void read(const TensorInfo& tensor, int64_t first, std::span<double> out) const = 0;
  // Whether the source holds the tensor.
  virtual bool has(const std::string& name) const = 0;
};

// How a random tensor's elements are drawn: mean + deviation N.
struct WeightDraw {
  double mean;
  double deviation;
};
WeightDraw weight_draw(const TensorInfo& tensor, NormKind norm);

// Weights drawn from a seed, each tensor from its own stream by name, rounded to bfloat16 so that
// every scalar and the engine run the same model. With N nearly normal: embedding N, linear and
// convolution N / sqrt(fan-in), norm gains 1 + 0.1 N (0.1 N where zero-centred), scale 1 + 0.3 N,
// offset 0.3 N, GLA bias N, A_log 0.5 N, dt_bias 0.5 N.
class RandomWeights : public WeightSource {
 public:
  RandomWeights(uint64_t seed, NormKind norm) : seed_(seed), norm_(norm) {}
  void read(const TensorInfo& tensor, int64_t first, std::span<double> out) const override;
  bool has(const std::string&) const override { return true; }

 private:
  uint64_t seed_;
  NormKind norm_;
};

// A checkpoint's tensor under its own name, or with "model.language_model." in place of "model." as
// multimodal checkpoints have it; null where there is neither.
const TensorView* find_tensor(const TensorSource& files, const std::string& name);

// A checkpoint's tensors, as find_tensor finds them.
class CheckpointWeights : public WeightSource {
 public:
  explicit CheckpointWeights(const TensorSource& files) : files_(files) {}
  void read(const TensorInfo& tensor, int64_t first, std::span<double> out) const override;
  bool has(const std::string& name) const override { return find_tensor(files_, name) != nullptr; }

 private:
  const TensorSource& files_;
};

// Checks that every tensor of the spec is in the checkpoint with its shape, before anything is
// read. Throws InputError naming the first that is not.
void check_tensors(const ModelSpec& spec, const TensorSource& files);

}  // namespace orthros
