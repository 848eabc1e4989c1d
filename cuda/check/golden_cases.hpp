// Cases from tiny checkpoints whose logits independent programs computed.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "cuda/check/check_case.hpp"

namespace orthros::cuda {

// Where the source tree that this was built from keeps them, if it is there.
std::optional<std::filesystem::path> goldens_folder();

// NAME.json and NAME.safetensors of qwen3_tiny, llama3_tiny, mistral_swa4_tiny and orthros_tiny.
// Throws InputError where one is not there or is not what it should be.
std::vector<CheckCase> golden_cases(const std::filesystem::path& folder);

}  // namespace orthros::cuda
