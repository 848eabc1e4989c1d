// Benchmarks the CPU's dot chains: multiply-adds per second on one core, by vector width.
#include <benchmark/benchmark.h>

#include <vector>

#include "reference/hopper/dot_panel.hpp"
#include "reference/hopper/dot_step.hpp"
#include "reference/hopper/rounding.hpp"

namespace orthros::hopper {
namespace {

std::vector<uint16_t> random_values(int64_t count, uint64_t seed) {
  std::vector<uint16_t> values(static_cast<size_t>(count));
  for (uint16_t& value : values) {
    float sum = 0.0f;
    for (int i = 0; i < 4; ++i) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      sum += static_cast<float>(seed >> 40) * 0x1p-23f - 1.0f;
    }
    value = round_bf16(sum);
  }
  return values;
}

void count_multiply_adds(benchmark::State& state, int64_t each) {
  state.counters["MAC/s"] =
      benchmark::Counter(static_cast<double>(each) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}

// Arguments: vector width in floats, rows, length. 512 outputs.
void panels(benchmark::State& state) {
  constexpr int64_t count = 16;
  limit_panel_vectors(state.range(0));
  if (panel_vector_width() != state.range(0)) {
    state.SkipWithError("this machine has no vectors of this width");
    return;
  }
  const int64_t rows = state.range(1);
  const int64_t length = state.range(2);
  const auto x = random_values(rows * length, 1);
  std::vector<Panel> weights(count, Panel(length));
  for (int64_t p = 0; p < count; ++p) {
    const auto w = random_values(length * panel_lanes, static_cast<uint64_t>(p + 2));
    for (int64_t o = 0; o < panel_lanes; ++o) {
      weights[static_cast<size_t>(p)].set_output(o, w.data() + o * length);
    }
  }
  const PanelRows ready(x.data(), rows, length, length);
  std::vector<float> y(static_cast<size_t>(rows * count * panel_lanes));
  for (auto _ : state) {
    for (int64_t p = 0; p < count; ++p) {
      ready.multiply(weights[static_cast<size_t>(p)], 0, panel_lanes, y.data() + p * panel_lanes,
                     count * panel_lanes);
    }
    benchmark::DoNotOptimize(y.data());
  }
  count_multiply_adds(state, rows * length * count * panel_lanes);
}
BENCHMARK(panels)->ArgsProduct({{4, 8, 16}, {1, 16}, {128, 4096}});

// The plain definition. Argument: length.
void plain_chain(benchmark::State& state) {
  const int64_t length = state.range(0);
  const auto a = random_values(length, 1);
  const auto b = random_values(length, 2);
  for (auto _ : state) benchmark::DoNotOptimize(dot_chain(a.data(), 1, b.data(), 1, length));
  count_multiply_adds(state, length);
}
BENCHMARK(plain_chain)->Arg(4096);

}  // namespace
}  // namespace orthros::hopper

BENCHMARK_MAIN();
