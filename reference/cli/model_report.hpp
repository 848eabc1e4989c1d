// What was understood of the model and the options, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "reference/cli/compute_options.hpp"
#include "reference/cli/model_options.hpp"

namespace orthros::cli {

using Json = nlohmann::ordered_json;

// {model, arch, window, scalar, seed}; window null where there is none, seed null for a checkpoint.
Json model_json(const ModelInput& input, const ComputeOptions& compute);
// One line; a number that is not finite becomes null.
void print_json(const Json& json);

// "orthros, window 128".
std::string architecture_text(const std::string& arch, const ModelSpec& spec);
void print_model(const ModelInput& input, const ComputeOptions& compute);
// Ids with spaces between them, the middle of a long list left out.
std::string ids_text(std::span<const int64_t> ids);

}  // namespace orthros::cli
