// Draws weights and writes them as a checkpoint.
#include "reference/convert/random_checkpoint.hpp"

#include <algorithm>
#include <vector>

#include "reference/model/weight_source.hpp"
#include "reference/spec/config_extension.hpp"
#include "reference/spec/output_file.hpp"
#include "reference/weights/bfloat16.hpp"
#include "reference/weights/safetensors_writer.hpp"

namespace orthros {
namespace {

// In pieces, so that no whole tensor stands in double.
TensorToWrite drawn(const RandomWeights& weights, const TensorInfo& tensor) {
  const auto produce = [&weights, tensor](const ByteSink& sink) {
    constexpr int64_t piece = 1 << 16;
    for (int64_t first = 0; first < tensor.elements(); first += piece) {
      std::vector<double> wide(static_cast<size_t>(std::min(piece, tensor.elements() - first)));
      weights.read(tensor, first, wide);
      const std::vector<bfloat16> values(wide.begin(), wide.end());
      sink(std::as_bytes(std::span(values)));
    }
  };
  return {tensor.name, TensorDtype::bf16, tensor.shape, produce};
}

}  // namespace

void write_random_checkpoint(const nlohmann::json& config, const ModelSpec& spec, uint64_t seed,
                             const std::filesystem::path& folder) {
  nlohmann::json written = config_for(config, spec);
  for (const char* name : {"name", "hf_names", "dtype"}) written.erase(name);
  written["torch_dtype"] = "bfloat16";
  if (written.contains("text_config")) {
    for (const char* name : {"dtype", "torch_dtype"}) written["text_config"].erase(name);
  }
  write_text_file(folder / "config.json", written.dump(2) + "\n");
  const RandomWeights weights(seed, spec.norm);
  std::vector<TensorToWrite> tensors;
  for (const TensorInfo& tensor : tensor_table(spec)) tensors.push_back(drawn(weights, tensor));
  write_safetensors(folder / "model.safetensors", tensors, {{"format", "pt"}});
}

}  // namespace orthros
