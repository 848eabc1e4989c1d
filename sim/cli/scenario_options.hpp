// Options that several verbs share: model, architectures, hardware, profile, deployment, output.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reference/cli_support/options.hpp"
#include "reference/spec/model_spec.hpp"
#include "sim/csv.hpp"
#include "sim/ops.hpp"

namespace orthros::cli {

// --model, --arch, --window.
void add_model_options(po::options_description& options);
// --hardware, --profile, --tensor-parallel, --sequence-parallel, --left-context, --weights, --kv.
void add_hardware_options(po::options_description& options);
// --json, --csv.
void add_format_options(po::options_description& options);

enum class Format { table, json, csv };
Format format_of(const po::variables_map& given);

// The model's spec in each architecture that --arch names: a list, or "all" for every one that the
// model can be turned into; without it, what the model is. `window`, by default --window, as
// spec_in_architecture has it.
struct ArchitectureModel {
  std::string name;
  ModelSpec spec;
};
std::vector<ArchitectureModel> architectures_of(const po::variables_map& given,
                                                const ModelSpec& spec);
std::vector<ArchitectureModel> architectures_of(const po::variables_map& given,
                                                const ModelSpec& spec,
                                                std::optional<int64_t> window);
ArchitectureModel architecture_named(const std::optional<std::string>& name, const ModelSpec& spec,
                                     std::optional<int64_t> window);

// What reports call a model: its own name, or the text that found it.
std::string model_name(const po::variables_map& given, const ModelSpec& spec);

constexpr const char* left_context_help =
    "recompute (as this project's engine: shards of two windowed streams run it again, full "
    "attention's ranks bring all keys together in each pass) or receive (a window's keys of each "
    "layer; full attention circulates all round a ring)";
Deployment deployment_of(const po::variables_map& given);

// --where COLUMN=VALUE, repeatable: keeps the rows that read so.
void add_where_option(po::options_description& options);
void apply_where(const po::variables_map& given, CsvTable& table);

}  // namespace orthros::cli
