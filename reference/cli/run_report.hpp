// What `run` takes beside a model and sequences, and how it shows the result: shared by programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reference/cli/model_report.hpp"
#include "reference/cli/sequence_options.hpp"
#include "reference/cli/tensor_dump.hpp"

namespace orthros::cli {

struct RunRequest {
  int64_t chunk = 0;  // tokens of a sequence in one call; 0: all
  std::optional<std::string> dump;
  bool json = false;
};

// --chunk, --dump, --json.
void add_run_options(po::options_description& options);
// Throws InputError where the dump cannot be written.
RunRequest read_run_request(const po::variables_map& given);

struct RunResult {
  std::vector<Matrix<double>> logits;  // a sequence each: outputs x vocab
  std::vector<NamedTensor> dump;       // empty without --dump
};

// What the names of a sequence's tensors in a dump begin with.
std::string dump_prefix(size_t sequence, size_t sequences);

// Writes the dump and prints the result.
void report_run(const ModelInput& input, const ComputeOptions& compute, const RunRequest& request,
                const std::vector<SequenceInput>& sequences, const RunResult& result);

}  // namespace orthros::cli
