// A ModelSpec from a Hugging Face config.json.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "reference/spec/model_spec.hpp"

namespace orthros {

// Model types read: qwen3, llama, mistral, qwen3_5 (nested text_config), qwen3_5_text, orthros.
// A config may also carry "orthros": {"architecture": NAME, "window", "scale_offset", "linear":
// {"key_heads", "value_heads", "key_width", "value_width", "conv_width", "gate_rank"}}, which
// applies to_architecture to the rest: how presets and checkpoints of the paper's other systems are
// written. Null is the same as absent. What is read but not supported is refused by name; an
// unknown model_type lists the known. The result is valid. Throws InputError(file, field, ...).
ModelSpec spec_from_config(const nlohmann::json& config, const std::string& file);

// From a path: a config.json or a folder that holds one; a generation_config.json beside it adds
// its eos_token_id.
ModelSpec load_spec(const std::filesystem::path& path);

// From a path or the name of a preset in scenarios/models/.
ModelSpec load_model_spec(std::string_view file_or_preset);

}  // namespace orthros
