// Sweeps a closed-loop server over lengths, concurrency and KV budget.
#include "sim/cli/sweep_serve.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "reference/spec/input_error.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/serve/summary.hpp"
#include "sim/size_range.hpp"

namespace orthros::cli {
namespace {

struct Load {
  int64_t input = 0;
  int64_t output = 0;
  int64_t concurrency = 0;
  int64_t kv_budget = 0;  // 0: what the model leaves free
  int64_t requests = 0;
};

std::string cell(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

// Rounds of the closed loop that stand behind the means; the first is the burst that opens it.
constexpr int64_t rounds = 8;

std::string row_of(const std::string& model, const report::SweptSystem& s, const Load& load) {
  ServeConfig config;
  config.max_batch = std::max(config.max_batch, load.concurrency);
  config.token_budget = std::max(config.token_budget, load.concurrency);
  config.kv_budget = load.kv_budget > 0
                         ? load.kv_budget
                         : default_kv_budget(s.cost, config, s.hardware.memory_bytes);
  const std::string head =
      fmt::format("{},{},{},{},{},{},{},{},{},{}", model, s.arch,
                  s.window ? std::to_string(*s.window) : "", s.hardware.name, s.profile.name,
                  load.input, load.output, load.concurrency, config.kv_budget, load.requests);
  if (config.kv_budget == 0) return head + ",0,,,,,,,,,,\n";
  Workload workload;
  workload.concurrency = load.concurrency;
  for (int64_t i = 0; i < load.requests; ++i) {
    Request request;
    request.input = load.input;
    request.output = load.output;
    workload.requests.push_back(request);
  }
  const ServeResult result = serve(s.cost, config, workload);
  const ServeSummary served = summary_of(result, {}, 0.0);
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", head, served.completed,
                     cell(served.ttft_s.mean), cell(served.ttft_s.p95), cell(served.tpot_s.mean),
                     cell(served.tpot_s.p95), cell(served.e2e_s.mean), cell(served.e2e_s.p95),
                     cell(served.output_tokens_per_s), result.preemptions, result.kv_peak_bytes,
                     served.utilisation);
}

std::vector<Load> loads_of(const po::variables_map& given, const std::vector<int64_t>& inputs,
                           const std::vector<int64_t>& outputs) {
  const auto list = [&](const char* name, const char* otherwise) {
    return parse_size_ranges(fmt::format("--{}", name),
                             optional_text(given, name).value_or(otherwise));
  };
  const std::vector<int64_t> budgets =
      optional_text(given, "kv-budget") ? list("kv-budget", "") : std::vector<int64_t>{0};
  std::vector<Load> loads;
  for (int64_t input : inputs) {
    for (int64_t output : outputs) {
      for (int64_t concurrency : list("concurrency", "1")) {
        for (int64_t budget : budgets) {
          loads.push_back({input, output, concurrency, budget, rounds * concurrency});
        }
      }
    }
  }
  constexpr int64_t most = 1 << 16;
  for (const Load& load : loads) {
    if (load.concurrency < 1 || load.concurrency > most) {
      throw InputError("--concurrency", "",
                       fmt::format("expected 1 to {}, got {}", most, load.concurrency));
    }
    if (load.input < 1) {
      throw InputError("--input", "", fmt::format("expected at least 1, got {}", load.input));
    }
  }
  return loads;
}

}  // namespace

void add_served_sweep_options(po::options_description& options) {
  options.add_options()("concurrency", po::value<std::string>(),
                        "requests in flight: serve each combination by closed loop")(
      "kv-budget", po::value<std::string>(),
      "bytes for KV and states, with or without concurrency");
}

bool is_served_sweep(const po::variables_map& given) {
  return optional_text(given, "concurrency") || optional_text(given, "kv-budget");
}

void sweep_served(const po::variables_map& given, const std::string& model,
                  const std::vector<report::SweptSystem>& systems,
                  const std::vector<int64_t>& inputs, const std::vector<int64_t>& outputs) {
  const std::vector<Load> loads = loads_of(given, inputs, outputs);
  fmt::print(
      "model,arch,window,hardware,profile,input,output,concurrency,kv_budget_bytes,requests,"
      "completed,ttft_mean_s,ttft_p95_s,tpot_mean_s,tpot_p95_s,e2e_mean_s,e2e_p95_s,"
      "output_tokens_per_s,preemptions,kv_peak_bytes,utilisation\n");
  const auto count = static_cast<int64_t>(loads.size());
  for (const report::SweptSystem& s : systems) {
#pragma omp parallel for schedule(dynamic) ordered
    for (int64_t i = 0; i < count; ++i) {
      const std::string row = row_of(model, s, loads[static_cast<size_t>(i)]);
#pragma omp ordered
      {
        fmt::print("{}", row);
        std::fflush(stdout);
      }
    }
  }
}

}  // namespace orthros::cli
