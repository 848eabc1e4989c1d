// The reference's linear layer beside Eigen's GEMM: 64 rows of 1024 x 1024. The aim in double is no
// less than half of Eigen.
#include <benchmark/benchmark.h>

#include "reference/model/linear.hpp"
#include "reference/weights/counter_random.hpp"

namespace orthros {
namespace {

constexpr int64_t rows = 64;
constexpr int64_t width = 1024;

template <class S>
Matrix<S> random_matrix(int64_t height, int64_t columns, const char* name) {
  const CounterRandom random(1, name);
  Matrix<S> m(height, columns);
  for (int64_t i = 0; i < m.size(); ++i) m.data()[i] = S(random.normal(static_cast<uint64_t>(i)));
  return m;
}

void report_flops(benchmark::State& state) {
  state.counters["FLOP/s"] =
      benchmark::Counter(2.0 * rows * width * width, benchmark::Counter::kIsIterationInvariantRate);
}

template <class S>
void orthros_linear(benchmark::State& state) {
  const Matrix<S> x = random_matrix<S>(rows, width, "x");
  const Matrix<S> w = random_matrix<S>(width, width, "w");
  Linear<S> linear(width, width);
  for (int64_t o = 0; o < width; ++o) linear.set_row(o, &w(o, 0));
  for (auto _ : state) benchmark::DoNotOptimize(linear(x).data());
  report_flops(state);
}

template <class S>
void eigen_gemm(benchmark::State& state) {
  const Matrix<S> x = random_matrix<S>(rows, width, "x");
  const Matrix<S> w = random_matrix<S>(width, width, "w");
  Matrix<S> y(rows, width);
  for (auto _ : state) {
    y.noalias() = x * w.transpose();
    benchmark::DoNotOptimize(y.data());
  }
  report_flops(state);
}

// Both run on every thread, so wall time is what counts.
BENCHMARK(orthros_linear<double>)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(eigen_gemm<double>)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(orthros_linear<float>)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(eigen_gemm<float>)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(orthros_linear<bfloat16>)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orthros
