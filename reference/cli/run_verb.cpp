// orthros-ref run: logits, keys and values of token sequences.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/cli/loaded_model.hpp"
#include "reference/cli/model_report.hpp"
#include "reference/cli/sequence_options.hpp"
#include "reference/cli/tensor_dump.hpp"
#include "reference/cli/verbs.hpp"
#include "reference/model/forward_chunked.hpp"

namespace orthros::cli {
namespace {

constexpr const char* usage =
    "orthros-ref run (--model DIR | --random SPEC --seed N) --tokens 5,7,9|@FILE [options]";

constexpr const char* notes = R"(examples
  orthros-ref run --model DIR --tokens 5,7,9
  orthros-ref run --model DIR --arch orthros-noso --window 128 --tokens @prompt.txt --chunk 512
  orthros-ref run --random qwen3-8b.json --seed 1 --tokens 1,2,3,4 --documents 0,0,1,1 --json
  orthros-ref run --model DIR --tokens 5,7,9 --tokens 3,1 --outputs all --dump out.safetensors

--json: {model, arch, window, scalar, seed, tokens, outputs, logits}, logits a row for each output;
with several --tokens, "sequences": a list of {tokens, outputs, logits} in their place.
--dump: a safetensors file, all F64, N the layer from 0:
  logits             outputs x vocab
  keys.N, values.N   T x Hkv d, keys after RoPE; yoco's one pair: keys.shared, values.shared
  states.N           Hv x K x V, of a recurrent layer after the last token
  conv_inputs.N      (taps - 1) x channels, what its convolution still needs, oldest first
With several --tokens each name begins with sequence.I., I from 0 in the order given.
)";

struct RunResult {
  std::vector<Matrix<double>> logits;  // a sequence each: outputs x vocab
  std::vector<NamedTensor> dump;       // empty without --dump
};

std::string dump_prefix(size_t sequence, size_t sequences) {
  return sequences == 1 ? "" : fmt::format("sequence.{}.", sequence);
}

template <class S>
RunResult run_model(const Model<S>& model, const std::vector<SequenceInput>& inputs, int64_t chunk,
                    const ComputeOptions& compute, bool dump) {
  std::vector<Cache<S>> caches(inputs.size(), Cache<S>(model.spec));
  std::vector<Sequence<S>> batch;
  int64_t work = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const SequenceInput& input = inputs[i];
    batch.push_back({&caches[i], input.tokens, input.outputs, input.documents});
    work += layer_rows(model.spec, static_cast<int64_t>(input.tokens.size()),
                       static_cast<int64_t>(input.outputs.size()));
  }
  Progress progress("running layers", work);
  const std::vector<Logits<S>> logits = forward_chunked<S>(
      model, std::span<const Sequence<S>>(batch), chunk, forward_options<S>(compute, progress));
  RunResult result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    result.logits.push_back(logits[i].template cast<double>());
    if (!dump) continue;
    const std::string prefix = dump_prefix(i, inputs.size());
    result.dump.push_back(named_tensor(prefix + "logits", result.logits.back()));
    add_cache(model.spec, caches[i], prefix, result.dump);
  }
  return result;
}

Json sequence_json(const SequenceInput& input, const Matrix<double>& logits, Json json) {
  json["tokens"] = input.tokens;
  if (!input.documents.empty()) json["documents"] = input.documents;
  json["outputs"] = input.outputs;
  json["logits"] = Json::array();
  for (int64_t r = 0; r < logits.rows(); ++r) {
    Json row = Json::array();
    for (int64_t c = 0; c < logits.cols(); ++c) row.push_back(logits(r, c));
    json["logits"].push_back(std::move(row));
  }
  return json;
}

// The ids of the largest logits, the lower id first among equals; NaN behind all numbers.
std::vector<int64_t> top_ids(const Matrix<double>& logits, int64_t row) {
  constexpr int64_t most = 5;
  std::vector<int64_t> ids(static_cast<size_t>(logits.cols()));
  std::iota(ids.begin(), ids.end(), 0);
  const auto end = ids.begin() + std::min(most, logits.cols());
  std::partial_sort(ids.begin(), end, ids.end(), [&](int64_t a, int64_t b) {
    const double x = logits(row, a);
    const double y = logits(row, b);
    if (std::isnan(x) || std::isnan(y))
      return std::isnan(x) == std::isnan(y) ? a < b : !std::isnan(x);
    return x != y ? x > y : a < b;
  });
  ids.erase(end, ids.end());
  return ids;
}

void print_sequence(const SequenceInput& input, const Matrix<double>& logits) {
  fmt::print("tokens  {}: {}\n", input.tokens.size(), ids_text(input.tokens));
  if (input.outputs.empty()) fmt::print("outputs none\n");
  for (size_t i = 0; i < input.outputs.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    fmt::print("\nposition {}, after token {}: largest logits\n", input.outputs[i],
               input.tokens[static_cast<size_t>(input.outputs[i] - 1)]);
    for (const int64_t id : top_ids(logits, row)) {
      fmt::print("  {:>8}  {:>16.9g}\n", id, logits(row, id));
    }
  }
}

}  // namespace

int run_run(const Arguments& arguments) {
  po::options_description options("options");
  add_model_options(options);
  add_sequence_options(options);
  add_compute_options(options);
  options.add_options()("chunk", po::value<std::string>()->value_name("N"),
                        "tokens of a sequence in one call; changes no result, saves memory")(
      "dump", po::value<std::string>()->value_name("FILE"), "write logits and caches there")(
      "json", "print JSON, all logits");
  const auto given = parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  const ComputeOptions compute = read_compute_options(*given);
  const int64_t chunk = optional_size(*given, "chunk", 1).value_or(0);
  const auto dump = optional_text(*given, "dump");
  if (dump) require_writable(*dump);
  const ModelInput input = open_model(*given);
  const std::vector<SequenceInput> sequences = read_sequences(*given, input.spec);
  for (const SequenceInput& sequence : sequences) {
    warn_past_max_positions(input.spec, static_cast<int64_t>(sequence.tokens.size()));
  }

  const RunResult result = with_model(input, compute, [&]<class S>(const Model<S>& model) {
    return run_model(model, sequences, chunk, compute, dump.has_value());
  });
  Json json = model_json(input, compute);
  if (dump) {
    std::map<std::string, std::string> metadata;
    for (const auto& [key, value] : json.items()) {
      if (!value.is_null())
        metadata[key] = value.is_string() ? value.get<std::string>() : value.dump();
    }
    write_tensors(*dump, result.dump, metadata);
  }
  if (has_option(*given, "json")) {
    if (sequences.size() == 1) {
      print_json(sequence_json(sequences[0], result.logits[0], std::move(json)));
      return 0;
    }
    for (size_t i = 0; i < sequences.size(); ++i) {
      json["sequences"].push_back(sequence_json(sequences[i], result.logits[i], {}));
    }
    print_json(json);
    return 0;
  }
  print_model(input, compute);
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (sequences.size() > 1) fmt::print("\nsequence {}\n", i);
    print_sequence(sequences[i], result.logits[i]);
  }
  if (dump) fmt::print("\nwrote   {}\n", *dump);
  return 0;
}

}  // namespace orthros::cli
