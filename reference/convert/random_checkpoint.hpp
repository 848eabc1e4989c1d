// A checkpoint of random weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "reference/spec/model_spec.hpp"

namespace orthros {

// Writes config.json and model.safetensors into an existing folder: `config` changed to say `spec`,
// a transform of what it says, in bfloat16 and under no published model's name; the weights of
// RandomWeights(seed), which bfloat16 holds exactly.
void write_random_checkpoint(const nlohmann::json& config, const ModelSpec& spec, uint64_t seed,
                             const std::filesystem::path& folder);

}  // namespace orthros
