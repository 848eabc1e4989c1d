// What `serve` is asked: the engine, the traffic, the objectives.
#pragma once

#include <optional>
#include <string>

#include "reference/cli_support/options.hpp"
#include "sim/hardware.hpp"
#include "sim/serve/summary.hpp"

namespace orthros::cli {

struct ServeQuestion {
  ServeConfig config;   // kv_budget 0: what the model leaves free
  Workload workload;    // the same for every architecture
  std::string traffic;  // in words, as understood
  Slo slo;
  double dollars_per_gpu_hour = 0.0;
};

// --trace, --rate, --cv, --concurrency, --input, --output, --lengths, --requests, --duration,
// --time-scale, --seed.
void add_traffic_options(po::options_description& options);
// --token-budget, --max-batch, --block-size, --kv-budget, --prefix-cache, --replicas, --routing,
// --disaggregate, --stepwise, --slo-ttft, --slo-tpot, --price.
void add_engine_options(po::options_description& options);

// Reads and draws the traffic. Throws InputError for options that do not go together.
ServeQuestion serve_question(const po::variables_map& given, const Hardware& hardware);

}  // namespace orthros::cli
