// What `generate` takes beside a model and prompts, and how it shows the result: shared by
// programs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "reference/cli/model_report.hpp"
#include "reference/cli_support/options.hpp"

namespace orthros::cli {

struct GenerateRequest {
  int64_t chunk = 0;  // prompt tokens in one call; 0: all
  int64_t most = 0;   // tokens to generate
  bool json = false;
};

// --max-tokens, --eos, --ignore-eos, --chunk, --json.
void add_generate_options(po::options_description& options);
GenerateRequest read_generate_request(const po::variables_map& given);
// The ids that end generation, as the options have it.
std::vector<int64_t> eos_ids(const po::variables_map& given, const ModelSpec& spec);

// Warns where the prompt and `most` tokens behind it get longer than the model was trained for.
void warn_past_end(const char* program, const ModelSpec& spec, int64_t prompt, int64_t most);

// The prompt, and the beginning of the line of what follows it.
void print_prompt(const ModelSpec& spec, std::span<const int64_t> tokens);
void print_finish(const ModelSpec& spec, std::span<const int64_t> generated);

// {tokens, max_tokens, eos, generated, finish_reason} added to `json`.
Json generated_json(const ModelSpec& spec, std::span<const int64_t> tokens, int64_t most,
                    std::span<const int64_t> generated, Json json);

}  // namespace orthros::cli
