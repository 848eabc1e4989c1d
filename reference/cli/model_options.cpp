// Opens the model that the options name.
#include "reference/cli/model_options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

#include "reference/cli_support/architecture_option.hpp"
#include "reference/spec/architecture.hpp"
#include "reference/spec/config.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cli {
namespace {

namespace fs = std::filesystem;

uint64_t seed_option(const po::variables_map& given) {
  const std::string text = text_option(given, "seed");
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw InputError("--seed", "", fmt::format("expected 0 to 2^64 - 1, got '{}'", text));
  }
  return seed;
}

// check_tensors, saying what asks for an absent tensor, with a way out where only scale-offset is
// missing.
void require_tensors(const ModelSpec& spec, const std::string& arch, const TensorSource& files) {
  std::optional<std::string> no_scale_offset;
  for (const TensorInfo& tensor : tensor_table(spec)) {
    if (find_tensor(files, tensor.name) != nullptr) continue;
    if (tensor.role != TensorRole::scale && tensor.role != TensorRole::offset) {
      throw InputError(files.file(), tensor.name,
                       fmt::format("expected this tensor for architecture {}, found none", arch));
    }
    if (!no_scale_offset) no_scale_offset = tensor.name;
  }
  if (no_scale_offset) {
    throw InputError(files.file(), *no_scale_offset,
                     fmt::format("expected this tensor for architecture {}, found none; "
                                 "'orthros-ref convert' adds an identity scale-offset, --arch "
                                 "orthros-noso does without",
                                 arch));
  }
  check_tensors(spec, files);
}

ModelInput open_checkpoint(const po::variables_map& given, const std::string& model) {
  const CheckpointPaths paths = checkpoint_paths(model);
  ModelInput input;
  const ModelSpec own = load_spec(paths.config);
  input.spec =
      spec_in_architecture(own, optional_text(given, "arch"), optional_size(given, "window"));
  input.files = std::make_unique<TensorSource>(paths.weights);
  require_tensors(input.spec, architecture_name(given, input.spec), *input.files);
  input.weights = std::make_unique<CheckpointWeights>(*input.files);
  return input;
}

ModelInput open_random(const po::variables_map& given, const std::string& random) {
  ModelInput input;
  input.spec = spec_in_architecture(load_model_spec(random), optional_text(given, "arch"),
                                    optional_size(given, "window"));
  input.seed = seed_option(given);
  input.weights = std::make_unique<RandomWeights>(*input.seed, input.spec.norm);
  return input;
}

}  // namespace

CheckpointPaths checkpoint_paths(const std::string& model) {
  const fs::path path(model);
  std::error_code error;
  if (fs::is_directory(path, error)) return {path, path};
  if (!fs::is_regular_file(path, error)) {
    throw InputError(model, "",
                     "expected a checkpoint's folder, found none; --random draws the weights of a "
                     "config or preset");
  }
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (path.extension() == ".safetensors") return {folder / "config.json", path};
  return {path, folder};
}

void add_architecture_options(po::options_description& options) {
  options.add_options()(
      "arch", po::value<std::string>()->value_name("A"),
      "transformer, swa, orthros, orthros-noso, retnet, gla, gdn, yoco, yoco-retention, "
      "linear-hybrid or orthros-h; default: what the config says")(
      "window", po::value<std::string>()->value_name("W"),
      "keys that a windowed row sees, itself included; unused where there is no window");
}

void add_random_options(po::options_description& options) {
  options.add_options()("random", po::value<std::string>()->value_name("SPEC"),
                        "random weights of a config.json, or of a preset of scenarios/models/")(
      "seed", po::value<std::string>()->value_name("N")->default_value("0"),
      "of the random weights");
  add_architecture_options(options);
}

void add_model_options(po::options_description& options) {
  options.add_options()("model", po::value<std::string>()->value_name("DIR"),
                        "a checkpoint: config.json and *.safetensors; or, in its place:");
  add_random_options(options);
}

std::string architecture_name(const po::variables_map& given, const ModelSpec& spec) {
  return optional_text(given, "arch").value_or(architecture_of(spec));
}

ModelInput open_model(const po::variables_map& given) {
  const auto model = optional_text(given, "model");
  const auto random = optional_text(given, "random");
  if (model.has_value() == random.has_value()) {
    throw InputError("--model", "", "expected one of --model and --random");
  }
  if (model && !given["seed"].defaulted()) {
    throw InputError("--seed", "", "expected only beside --random");
  }
  ModelInput input = model ? open_checkpoint(given, *model) : open_random(given, *random);
  input.source = input.spec.source;
  input.arch = architecture_name(given, input.spec);
  input.name = input.spec.name.empty() ? (model ? *model : *random) : input.spec.name;
  return input;
}

void warn_past_max_positions(const char* program, const ModelSpec& spec, int64_t length) {
  if (spec.max_positions == 0 || length <= spec.max_positions) return;
  fmt::print(stderr, "{}: warning: {} tokens are past the model's max_position_embeddings {}\n",
             program, length, spec.max_positions);
}

}  // namespace orthros::cli
