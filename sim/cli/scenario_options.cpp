// Reads the options that several verbs share.
#include "sim/cli/scenario_options.hpp"

#include <fmt/format.h>

#include <iostream>
#include <sstream>

#include "reference/spec/input_error.hpp"
#include "reference/spec/size_text.hpp"

namespace orthros::cli {

void add_scenario_options(po::options_description& options) {
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("help", "print this")(
      "model", text(), "a Hugging Face config.json, its folder, or a preset of scenarios/models/")(
      "arch", text(), "comma-separated architectures, or all; default: what the model is")(
      "window", text(), "keys that a windowed row sees, itself included")(
      "hardware", text()->default_value("h100-sxm"), "a preset of scenarios/hardware/ or a file")(
      "profile", text()->default_value("ideal"), "a preset of scenarios/profiles/ or a file")(
      "tensor-parallel", text()->default_value("1"), "GPUs that split heads and FFN")(
      "sequence-parallel", text()->default_value("1"), "GPUs that split a prefill's positions")(
      "weights", text()->default_value("bf16"), "bf16 or fp8")("kv", text()->default_value("bf16"),
                                                               "bf16 or fp8")(
      "skip-dead", "leave out the last layer's dead base work")("json", "print JSON")("csv",
                                                                                      "print CSV");
}

std::optional<po::variables_map> parse_verb(const Arguments& arguments,
                                            const po::options_description& options,
                                            const char* usage, const char* notes) {
  po::variables_map given;
  // No guessing of abbreviated names: a later option must not change what a script means.
  const auto style =
      po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
  const po::parsed_options parsed = po::command_line_parser(arguments)
                                        .options(options)
                                        .style(style)
                                        .positional(po::positional_options_description())
                                        .run();
  po::store(parsed, given);
  if (given.count("help") != 0) {
    std::ostringstream listing;
    listing << options;
    fmt::print("usage: {}\n\n{}\n{}", usage, listing.str(), notes);
    return std::nullopt;
  }
  po::notify(given);
  return given;
}

Format format_of(const po::variables_map& given) {
  const bool json = given.count("json") != 0;
  const bool csv = given.count("csv") != 0;
  if (json && csv) throw InputError("--json", "", "expected one of --json and --csv, got both");
  return json ? Format::json : csv ? Format::csv : Format::table;
}

std::string text_option(const po::variables_map& given, const char* name) {
  if (given.count(name) == 0) {
    throw InputError(fmt::format("--{}", name), "", "expected a value, got none");
  }
  return given[name].as<std::string>();
}

int64_t size_option(const po::variables_map& given, const char* name) {
  return parse_size(fmt::format("--{}", name), text_option(given, name));
}

std::optional<int64_t> optional_size(const po::variables_map& given, const char* name) {
  if (given.count(name) == 0) return std::nullopt;
  return size_option(given, name);
}

std::vector<std::string> split_list(std::string_view option, std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (parts.back().empty()) {
      throw InputError(option, "", "expected a comma-separated list without empty elements");
    }
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

std::vector<ArchitectureModel> architectures_of(const ModelSpec& spec, const std::string& names,
                                                std::optional<int64_t> window) {
  std::vector<ArchitectureModel> models;
  const auto request = [&](const std::string& name) {
    ArchitectureRequest wanted;
    wanted.name = name;
    wanted.window = window;
    return to_architecture(spec, wanted);
  };
  if (names.empty()) {
    const std::string own = architecture_of(spec);
    models.push_back({own, own == "mixed" ? spec : request(own)});
    return models;
  }
  if (names == "all") {
    for (const std::string& name : architecture_names()) {
      try {
        models.push_back({name, request(name)});
      } catch (const InputError&) {
        continue;  // a hybrid holds no weights for what needs softmax in every layer
      }
    }
    return models;
  }
  for (const std::string& name : split_list("--arch", names))
    models.push_back({name, request(name)});
  return models;
}

Deployment deployment_of(const po::variables_map& given) {
  Deployment to;
  const auto bytes = [&](const char* name) -> int64_t {
    const std::string dtype = text_option(given, name);
    if (dtype == "bf16") return 2;
    if (dtype == "fp8") return 1;
    throw InputError(fmt::format("--{}", name), "",
                     fmt::format("expected bf16 or fp8, got '{}'", dtype));
  };
  const auto ranks = [&](const char* name) {
    const int64_t value = size_option(given, name);
    constexpr int64_t most = 1024;
    if (value < 1 || value > most) {
      throw InputError(fmt::format("--{}", name), "",
                       fmt::format("expected 1 to {} GPUs, got {}", most, value));
    }
    return value;
  };
  to.weight_bytes = bytes("weights");
  to.kv_bytes = bytes("kv");
  to.tensor_parallel = ranks("tensor-parallel");
  to.sequence_parallel = ranks("sequence-parallel");
  return to;
}

}  // namespace orthros::cli
