// main() of the reference's benchmarks.
#include <benchmark/benchmark.h>

BENCHMARK_MAIN();
