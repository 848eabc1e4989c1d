// Options that several verbs share: model, architectures, hardware, profile, deployment, output.
#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reference/spec/architecture.hpp"
#include "sim/cli/verb.hpp"
#include "sim/hardware.hpp"
#include "sim/ops.hpp"
#include "sim/profile.hpp"

namespace orthros::cli {

namespace po = boost::program_options;

// Adds --model, --arch, --window, --hardware, --profile, --tensor-parallel, --sequence-parallel,
// --weights, --kv, --skip-dead, --json, --csv, --help.
void add_scenario_options(po::options_description& options);

// Parses; refuses positional and unknown arguments. Empty where --help was given, and printed.
std::optional<po::variables_map> parse_verb(const Arguments& arguments,
                                            const po::options_description& options,
                                            const char* usage, const char* notes);

enum class Format { table, json, csv };
Format format_of(const po::variables_map& given);

// A size option that must be there.
int64_t size_option(const po::variables_map& given, const char* name);
std::optional<int64_t> optional_size(const po::variables_map& given, const char* name);
std::string text_option(const po::variables_map& given, const char* name);

// The model's spec in each architecture asked for: names, or "all" for every one that the model can
// be turned into. Without --arch, what the model is.
struct ArchitectureModel {
  std::string name;
  ModelSpec spec;
};
std::vector<ArchitectureModel> architectures_of(const ModelSpec& spec, const std::string& names,
                                                std::optional<int64_t> window);
std::vector<std::string> split_list(std::string_view option, std::string_view text);

Deployment deployment_of(const po::variables_map& given);

}  // namespace orthros::cli
