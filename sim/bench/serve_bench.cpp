// Requests served per second on one core, in process, and what that takes of memory.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "reference/spec/architecture.hpp"
#include "reference/spec/config.hpp"
#include "sim/serve/summary.hpp"
#include "sim/serve/traffic.hpp"

namespace orthros {
namespace {

// As many requests with the mean lengths of the Azure conversation trace of 2023 (1155 in, 211 out)
// at a rate that one GPU bears, summary included. Targets: 19,000 in half a second, a million in
// 20 s and 1 GiB.
void serve_requests(benchmark::State& state, const char* architecture, const char* profile) {
  ArchitectureRequest request;
  request.name = architecture;
  const Hardware hardware = load_hardware("h100-sxm");
  const StepCost cost(count_model(to_architecture(load_model_spec("qwen3-8b"), request)), {},
                      load_profile(profile), hardware);
  Traffic traffic;
  traffic.rate = 5.4;
  traffic.requests = state.range(0);
  traffic.input = {1155.0, 1.0};
  traffic.output = {211.0, 0.8};
  ServeConfig config;
  config.kv_budget = default_kv_budget(cost, config, hardware.memory_bytes);
  ServeSummary summary;
  int64_t runs = 0;
  for (auto _ : state) {
    const ServeResult result = serve(cost, config, generate(traffic));
    summary = summary_of(result, {}, hardware.dollars_per_hour);
    runs = result.runs;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["events"] = static_cast<double>(runs);
  state.counters["completed"] = static_cast<double>(summary.completed);
  state.counters["in_flight"] = summary.mean_in_flight.value_or(0.0);
  state.counters["peak_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024.0;
}
BENCHMARK_CAPTURE(serve_requests, transformer_ideal, "transformer", "ideal")
    ->Arg(19'000)
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(serve_requests, orthros_table4, "orthros", "sglang-triton-h100")
    ->Arg(19'000)
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orthros

BENCHMARK_MAIN();
