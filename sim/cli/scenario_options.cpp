// Reads the options that several verbs share.
#include "sim/cli/scenario_options.hpp"

#include <fmt/format.h>

#include "reference/cli_support/architecture_option.hpp"
#include "reference/spec/architecture.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cli {
namespace {

int64_t gpus(const po::variables_map& given, const char* name) {
  const int64_t value = size_option(given, name, 1);
  constexpr int64_t most = 1024;
  if (value > most) {
    throw InputError(fmt::format("--{}", name), "",
                     fmt::format("expected 1 to {} GPUs, got {}", most, value));
  }
  return value;
}

}  // namespace

void add_model_options(po::options_description& options) {
  options.add_options()("model", po::value<std::string>(),
                        "a Hugging Face config.json, its folder, or a preset of scenarios/models/")(
      "arch", po::value<std::string>(),
      "comma-separated architectures, or all; default: what the model is")(
      "window", po::value<std::string>(), "keys that a windowed row sees, itself included");
}

void add_hardware_options(po::options_description& options) {
  const auto text = [](const char* value) {
    return po::value<std::string>()->default_value(value);
  };
  options.add_options()("hardware", text("h100-sxm"), "a preset of scenarios/hardware/ or a file")(
      "profile", text("ideal"), "a preset of scenarios/profiles/ or a file")(
      "tensor-parallel", text("1"), "GPUs that split heads and FFN")(
      "sequence-parallel", text("1"), "GPUs that split the positions of a sequence into shards")(
      "left-context", text("recompute"), left_context_help)("weights", text("bf16"), "bf16 or fp8")(
      "kv", text("bf16"), "bf16 or fp8");
}

void add_format_options(po::options_description& options) {
  options.add_options()("json", "print JSON")("csv", "print CSV");
}

Format format_of(const po::variables_map& given) {
  const bool json = has_option(given, "json");
  const bool csv = has_option(given, "csv");
  if (json && csv) throw InputError("--json", "", "expected one of --json and --csv, got both");
  return json ? Format::json : csv ? Format::csv : Format::table;
}

ArchitectureModel architecture_named(const std::optional<std::string>& name, const ModelSpec& spec,
                                     std::optional<int64_t> window) {
  ModelSpec result = spec_in_architecture(spec, name, window);
  return {name ? *name : architecture_of(result), std::move(result)};
}

std::vector<ArchitectureModel> architectures_of(const po::variables_map& given,
                                                const ModelSpec& spec) {
  return architectures_of(given, spec, optional_size(given, "window", 1));
}

std::vector<ArchitectureModel> architectures_of(const po::variables_map& given,
                                                const ModelSpec& spec,
                                                std::optional<int64_t> window) {
  std::vector<ArchitectureModel> models;
  const auto names = optional_text(given, "arch");
  if (!names) {
    models.push_back(architecture_named(std::nullopt, spec, window));
  } else if (*names == "all") {
    for (const std::string& name : architecture_names()) {
      try {
        models.push_back(architecture_named(name, spec, window));
      } catch (const InputError&) {
        continue;  // a hybrid holds no weights for what needs softmax in every layer
      }
    }
  } else {
    for (const std::string& name : split_list("--arch", *names)) {
      models.push_back(architecture_named(name, spec, window));
    }
  }
  return models;
}

std::string model_name(const po::variables_map& given, const ModelSpec& spec) {
  return spec.name.empty() ? text_option(given, "model") : spec.name;
}

Deployment deployment_of(const po::variables_map& given) {
  Deployment to;
  const auto bytes = [&](const char* name) -> int64_t {
    return choice_option(given, name, {"bf16", "fp8"}) == "fp8" ? 1 : 2;
  };
  to.weight_bytes = bytes("weights");
  to.kv_bytes = bytes("kv");
  to.tensor_parallel = gpus(given, "tensor-parallel");
  to.sequence_parallel = gpus(given, "sequence-parallel");
  to.left_context = choice_option(given, "left-context", {"recompute", "receive"}) == "receive"
                        ? LeftContext::receive
                        : LeftContext::recompute;
  return to;
}

void add_where_option(po::options_description& options) {
  options.add_options()("where", po::value<std::vector<std::string>>(),
                        "COLUMN=VALUE, repeatable: only rows that read so");
}

void apply_where(const po::variables_map& given, CsvTable& table) {
  for (const std::string& clause : repeated_option(given, "where")) {
    const size_t equals = clause.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw InputError("--where", "", fmt::format("expected COLUMN=VALUE, got '{}'", clause));
    }
    table.keep_where(clause.substr(0, equals), clause.substr(equals + 1));
  }
}

}  // namespace orthros::cli
