// Reads the sequences that the options name.
#include "reference/cli/sequence_options.hpp"

#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "reference/cli/number_list.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cli {
namespace {

std::vector<int64_t> token_ids(const std::string& text, const ModelSpec& spec) {
  return read_numbers("--tokens", text, {"token ids", 0, spec.vocab - 1});
}

std::vector<int64_t> document_ids(const std::string& text, size_t tokens) {
  std::vector<int64_t> ids =
      read_numbers("--documents", text, {"document ids", 0, std::numeric_limits<int64_t>::max()});
  if (ids.size() != tokens) {
    throw InputError(
        "--documents", "",
        fmt::format("expected one id for each of {} tokens, got {}", tokens, ids.size()));
  }
  return ids;
}

}  // namespace

void add_tokens_option(po::options_description& options) {
  options.add_options()("tokens", po::value<std::string>()->value_name("5,7,9|@FILE"),
                        "token ids; a file separates them by commas, spaces or lines, or is a JSON "
                        "array");
}

std::vector<int64_t> read_tokens(const po::variables_map& given, const ModelSpec& spec) {
  return token_ids(text_option(given, "tokens"), spec);
}

std::vector<int64_t> parse_outputs(const std::string& text, int64_t length) {
  if (text == "none") return {};
  if (text == "last") return {length};
  if (text != "all") return read_numbers("--outputs", text, {"positions", 1, length});
  std::vector<int64_t> all(static_cast<size_t>(length));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

void add_prompts_option(po::options_description& options) {
  options.add_options()("tokens", po::value<std::vector<std::string>>()->value_name("5,7,9|@FILE"),
                        "token ids; a file separates them by commas, spaces or lines, or is a JSON "
                        "array. Repeated: a batch, each its own sequence");
}

void add_sequence_options(po::options_description& options) {
  const auto texts = [](const char* name) {
    return po::value<std::vector<std::string>>()->value_name(name);
  };
  add_prompts_option(options);
  options.add_options()(
      "outputs", texts("all|last|none|1,3"),
      "positions, from 1, to predict at; default last. Once for all sequences or once for each")(
      "documents", texts("0,0,1,1|@FILE"),
      "a document id for each token of a packed sequence; once for each sequence");
}

std::vector<SequenceInput> read_sequences(const po::variables_map& given, const ModelSpec& spec) {
  const auto tokens = repeated_option(given, "tokens");
  const auto outputs = repeated_option(given, "outputs");
  const auto documents = repeated_option(given, "documents");
  if (tokens.empty()) throw InputError("--tokens", "", "expected a value, got none");
  if (outputs.size() > 1 && outputs.size() != tokens.size()) {
    throw InputError("--outputs", "",
                     fmt::format("expected once, or once for each of {} sequences, got {} times",
                                 tokens.size(), outputs.size()));
  }
  if (!documents.empty() && documents.size() != tokens.size()) {
    throw InputError("--documents", "",
                     fmt::format("expected once for each of {} sequences, got {} times",
                                 tokens.size(), documents.size()));
  }
  std::vector<SequenceInput> sequences;
  for (size_t i = 0; i < tokens.size(); ++i) {
    SequenceInput sequence;
    sequence.tokens = token_ids(tokens[i], spec);
    const std::string where = outputs.empty() ? "last" : outputs[outputs.size() == 1 ? 0 : i];
    sequence.outputs = parse_outputs(where, static_cast<int64_t>(sequence.tokens.size()));
    if (!documents.empty()) {
      sequence.documents = document_ids(documents[i], sequence.tokens.size());
    }
    sequences.push_back(std::move(sequence));
  }
  return sequences;
}

}  // namespace orthros::cli
