// sweep's question of a server: concurrency and KV budget beside lengths, through `serve`.
#pragma once

#include <string>
#include <vector>

#include "reference/cli_support/options.hpp"
#include "sim/report/sweep_page.hpp"

namespace orthros::cli {

// --concurrency, --kv-budget: lists that turn a sweep into a served one.
void add_served_sweep_options(po::options_description& options);
bool is_served_sweep(const po::variables_map& given);

// Serves every combination by closed loop and streams a row of CSV for each, on all cores.
// A combination that cannot be served (no memory beside the weights) has empty figures.
void sweep_served(const po::variables_map& given, const std::string& model,
                  const std::vector<report::SweptSystem>& systems,
                  const std::vector<int64_t>& inputs, const std::vector<int64_t>& outputs);

}  // namespace orthros::cli
