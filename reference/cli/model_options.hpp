// --model, --random, --seed, --arch, --window: the model that a verb works on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "reference/cli_support/options.hpp"
#include "reference/model/weight_source.hpp"
#include "reference/spec/model_spec.hpp"

namespace orthros::cli {

// Where a checkpoint's config and weights are.
struct CheckpointPaths {
  std::filesystem::path config;   // the folder, or the config's file
  std::filesystem::path weights;  // the folder, or the one file
};

// From a checkpoint's folder, its config.json or its *.safetensors. InputError where there is none.
CheckpointPaths checkpoint_paths(const std::string& model);

// A spec in the architecture asked for, with weights that are all there, unread.
struct ModelInput {
  std::string name;              // for people
  std::string arch;              // as asked for, or what the spec is
  std::string source;            // the config's path
  std::optional<uint64_t> seed;  // of random weights
  ModelSpec spec;
  std::unique_ptr<TensorSource> files;  // none for random weights
  std::unique_ptr<WeightSource> weights;
};

// --arch and --window.
void add_architecture_options(po::options_description& options);
// Those, --random and --seed.
void add_random_options(po::options_description& options);
// Those, and --model.
void add_model_options(po::options_description& options);

// The name that --arch gives, or what the spec is.
std::string architecture_name(const po::variables_map& given, const ModelSpec& spec);

// Throws InputError unless one of --model and --random is given and every tensor of the spec is
// there with its shape; what is missing for --arch orthros is named with the way out.
ModelInput open_model(const po::variables_map& given);

// Warns on stderr where a sequence gets longer than the model was trained for.
void warn_past_max_positions(const char* program, const ModelSpec& spec, int64_t length);

}  // namespace orthros::cli
