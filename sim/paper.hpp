// The paper's reported figures (Table 4), from scenarios/paper/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cost.hpp"

namespace orthros {

struct PaperRow {
  std::string arch;
  std::string model;  // a preset of scenarios/models/
  CostRequest request;
  bool fitted = false;  // the sglang-triton-h100 profile was fitted on it
  std::optional<double> ttft_s;
  double e2e_s = 0.0;
  std::optional<double> output_tokens_per_s;
  double decode_tokens_per_s = 0.0;  // whole batch
};

struct PaperTable {
  std::string title, source, conditions, hardware;
  double ttft_bound = 0.0, e2e_bound = 0.0, hybrid_e2e_bound = 0.0;  // relative, of predictions
  std::vector<PaperRow> rows;

  const PaperRow* find(std::string_view model, std::string_view arch, std::string_view hardware,
                       const CostRequest& request) const;
  double e2e_bound_of(const PaperRow& row) const;
};

PaperTable load_paper_table();

}  // namespace orthros
