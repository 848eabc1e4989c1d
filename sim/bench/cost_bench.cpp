// Cost points per second on one core, in process.
#include <benchmark/benchmark.h>

#include "reference/spec/architecture.hpp"
#include "reference/spec/config.hpp"
#include "sim/cost.hpp"

namespace orthros {
namespace {

// Points over a grid of lengths, so that no two in a row are the same. Target: 200,000 a second.
void cost_points(benchmark::State& state, const char* architecture, const char* profile) {
  ArchitectureRequest request;
  request.name = architecture;
  const Hardware hardware = load_hardware("h100-sxm");
  const StepCost cost(count_model(to_architecture(load_model_spec("qwen3-8b"), request)), {},
                      load_profile(profile), hardware);
  int64_t i = 0;
  for (auto _ : state) {
    const CostRequest point{1024 + 37 * (i % 1000), 2 + i % 500, 1 + i % 16};
    benchmark::DoNotOptimize(cost_point(cost, hardware, point));
    ++i;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(cost_points, transformer_ideal, "transformer", "ideal");
BENCHMARK_CAPTURE(cost_points, orthros_ideal, "orthros", "ideal");
BENCHMARK_CAPTURE(cost_points, orthros_table4, "orthros", "sglang-triton-h100");
BENCHMARK_CAPTURE(cost_points, orthros_h_table4, "orthros-h", "sglang-triton-h100");

}  // namespace
}  // namespace orthros

BENCHMARK_MAIN();
