// Cases with a name of their own: from the field (shared cases 10-15), edges, large shapes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cuda/check/check_case.hpp"
#include "cuda/check/random_case.hpp"

namespace orthros::cuda {

std::vector<CheckCase> field_cases(uint64_t seed);

// Steps across window and split edges, long prompts, offsets past 2^31 elements.
std::vector<CheckCase> edge_cases(Suite suite, uint64_t seed);

// Qwen3-8B's shapes: two layers of them, and all 36 with a vocabulary of 151936.
std::vector<CheckCase> large_cases(uint64_t seed);

}  // namespace orthros::cuda
