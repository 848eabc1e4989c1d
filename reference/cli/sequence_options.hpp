// --tokens, --outputs, --documents: the sequences that a verb runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/cli_support/options.hpp"
#include "reference/spec/model_spec.hpp"

namespace orthros::cli {

struct SequenceInput {
  std::vector<int64_t> tokens;
  std::vector<int64_t> outputs;    // positions from 1
  std::vector<int64_t> documents;  // an id a token, or empty
};

// --tokens only: one sequence.
void add_tokens_option(po::options_description& options);
std::vector<int64_t> read_tokens(const po::variables_map& given, const ModelSpec& spec);

// Output positions from "all", "last", "none" or a list, for a sequence of `length` tokens.
std::vector<int64_t> parse_outputs(const std::string& text, int64_t length);

// --tokens as often as there are sequences, and nothing else of what read_sequences reads.
void add_prompts_option(po::options_description& options);

// --tokens as often as there are sequences; --outputs once for all or once for each (default:
// last);
// --documents never or once for each.
void add_sequence_options(po::options_description& options);
std::vector<SequenceInput> read_sequences(const po::variables_map& given, const ModelSpec& spec);

}  // namespace orthros::cli
