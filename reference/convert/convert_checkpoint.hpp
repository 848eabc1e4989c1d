// A checkpoint of another architecture with the same weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "reference/spec/model_spec.hpp"
#include "reference/weights/checkpoint_files.hpp"

namespace orthros {

struct Conversion {
  int64_t copied = 0;                 // tensors
  std::vector<std::string> added;     // identity scale-offset
  std::vector<std::string> left_out;  // tensors that only the source's architecture has
  std::vector<std::string> files;     // written, by name
};

// Writes into the folder `out` (OutputFolder's rules) the checkpoint whose config is at `config` (a
// folder or a file) and whose weights are `files`, as `target`, a transform of its spec:
// config.json changed to say so, weights copied byte for byte in the shards that they are in,
// generation config and tokenizer files copied. What `target` has and the source lacks is made up
// in one case only: scale-offset becomes the identity (scale 1, offset 0, in the dtype of the
// layer's q_proj), unless the source's own config claims it. `copied_bytes` hears of progress.
// Throws InputError naming the first tensor that is missing or of another shape.
Conversion convert_checkpoint(const std::filesystem::path& config, const TensorSource& files,
                              const ModelSpec& target, const std::filesystem::path& out,
                              const std::function<void(int64_t)>& copied_bytes);

}  // namespace orthros
