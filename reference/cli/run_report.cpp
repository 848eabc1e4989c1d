// Shows logits, writes dumps.
#include "reference/cli/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace orthros::cli {
namespace {

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

void write_dump(const std::string& path, const Json& about, const RunResult& result) {
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : about.items()) {
    if (!value.is_null())
      metadata[key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  write_tensors(path, result.dump, metadata);
}

}  // namespace

void add_run_options(po::options_description& options) {
  options.add_options()("chunk", po::value<std::string>()->value_name("N"),
                        "tokens of a sequence in one call; changes no result, saves memory")(
      "dump", po::value<std::string>()->value_name("FILE"), "write logits and caches there")(
      "json", "print JSON, all logits");
}

RunRequest read_run_request(const po::variables_map& given) {
  RunRequest request;
  request.chunk = optional_size(given, "chunk", 1).value_or(0);
  request.dump = optional_text(given, "dump");
  request.json = has_option(given, "json");
  if (request.dump) require_writable(*request.dump);
  return request;
}

std::string dump_prefix(size_t sequence, size_t sequences) {
  return sequences == 1 ? "" : fmt::format("sequence.{}.", sequence);
}

void report_run(const ModelInput& input, const ComputeOptions& compute, const RunRequest& request,
                const std::vector<SequenceInput>& sequences, const RunResult& result) {
  Json json = model_json(input, compute);
  if (request.dump) write_dump(*request.dump, json, result);
  if (request.json) {
    if (sequences.size() == 1) {
      print_json(sequence_json(sequences[0], result.logits[0], std::move(json)));
      return;
    }
    for (size_t i = 0; i < sequences.size(); ++i) {
      json["sequences"].push_back(sequence_json(sequences[i], result.logits[i], {}));
    }
    print_json(json);
    return;
  }
  print_model(input, compute);
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (sequences.size() > 1) fmt::print("\nsequence {}\n", i);
    print_sequence(sequences[i], result.logits[i]);
  }
  if (request.dump) fmt::print("\nwrote   {}\n", *request.dump);
}

}  // namespace orthros::cli
