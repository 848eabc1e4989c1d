// Serving tables: whole servers under closed-loop load, predicted and fitted.
#pragma once

#include <string>
#include <vector>

#include "sim/closed_loop.hpp"
#include "sim/csv.hpp"
#include "sim/least_squares.hpp"
#include "sim/profile.hpp"

namespace orthros {

// One row: a model on a server, its closed-loop load, and the means measured.
struct MeasuredServer {
  CountModel model;
  Deployment deployment;
  Hardware hardware;
  ClosedLoop load;
  double ttft_s = 0.0;
  double tpot_s = 0.0;
  double e2e_s() const { return ttft_s + tpot_s * static_cast<double>(load.output - 1); }
};

// Columns: model (a name on the Hugging Face hub that a preset's hf_names lists), system, weights
// (bf16 or fp8), tensor_parallel, concurrency, input_tokens, output_tokens, ttft_ms, tpot_ms.
// Throws InputError for malformed cells and for models that no preset names.
std::vector<MeasuredServer> measured_servers(const CsvTable& table);

struct ServingErrors {
  std::vector<double> ttft, tpot, e2e;  // relative, by row
};
ServingErrors serving_errors(const std::vector<MeasuredServer>& rows, const Profile& profile);

struct ServingFit {
  Profile profile;
  int64_t parameters = 0;
  ServingErrors cross_validated;  // in the order of the rows
};
// Scales of a base profile's laws and the software around them, by least squares on the relative
// errors of TTFT and TPOT.
ServingFit fit_serving(const std::vector<MeasuredServer>& rows, const Profile& base,
                       int64_t folds = 5);

}  // namespace orthros
