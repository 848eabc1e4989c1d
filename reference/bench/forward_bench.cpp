// Attention over a long cache, and prefill and decode of a small Orthros.
#include <benchmark/benchmark.h>

#include <numeric>

#include "reference/model/load_model.hpp"
#include "reference/model/modes.hpp"
#include "reference/spec/architecture.hpp"

namespace orthros {
namespace {

// One query of one head over `keys` keys of width 128.
template <class S>
void attend_one_head(benchmark::State& state) {
  constexpr int64_t width = 128;
  const int64_t keys = state.range(0);
  const Matrix<S> kv = Matrix<S>::Constant(keys, width, S(0.01));
  const Vector<S> q = Vector<S>::Constant(width, S(0.5));
  Vector<S> o(width);
  for (auto _ : state) {
    attend(q.data(), kv.data(), kv.data(), width, width, {0, keys}, o.data());
    benchmark::DoNotOptimize(o.data());
  }
  state.counters["keys/s"] =
      benchmark::Counter(static_cast<double>(keys), benchmark::Counter::kIsIterationInvariantRate);
}

// 4 layers, D 256, 8 query heads over 2 KV heads x 32, F 768, window 128.
Model<double> small_orthros() {
  SoftmaxAttention mixer;
  mixer.query_heads = 8;
  mixer.kv_heads = 2;
  mixer.head_width = 32;
  mixer.qk_norm = true;
  mixer.rope = Rope{};
  mixer.rope->width = mixer.head_width;
  ModelSpec spec;
  spec.name = "small";
  spec.vocab = 1024;
  spec.hidden = 256;
  spec.layers.assign(4, Layer{mixer, SwiGlu{768}});
  const ModelSpec dual = orthros(spec, default_window, ScaleOffset::after_qk_norm);
  return load_model<double>(dual, RandomWeights(1, dual.norm));
}

std::vector<int64_t> prompt_of(int64_t length) {
  std::vector<int64_t> tokens(static_cast<size_t>(length));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

void prefill_tokens(benchmark::State& state) {
  const Model<double> model = small_orthros();
  const auto prompt = prompt_of(state.range(0));
  for (auto _ : state) {
    Cache<double> cache(model.spec);
    benchmark::DoNotOptimize(prefill<double>(model, cache, prompt).data());
  }
  state.counters["tokens/s"] = benchmark::Counter(static_cast<double>(state.range(0)),
                                                  benchmark::Counter::kIsIterationInvariantRate);
}

// One decode step behind a prompt; the cache is cut back each time.
void decode_step(benchmark::State& state) {
  const Model<double> model = small_orthros();
  const auto prompt = prompt_of(state.range(0));
  Cache<double> cache(model.spec);
  prefill<double>(model, cache, prompt);
  for (auto _ : state) {
    benchmark::DoNotOptimize(decode<double>(model, cache, 1).data());
    cache.truncate(state.range(0));
  }
}

BENCHMARK(attend_one_head<double>)->Arg(128)->Arg(4096)->Unit(benchmark::kMicrosecond);
BENCHMARK(attend_one_head<bfloat16>)->Arg(128)->Arg(4096)->Unit(benchmark::kMicrosecond);
BENCHMARK(prefill_tokens)->Arg(64)->Arg(512)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(decode_step)->Arg(64)->Arg(512)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orthros
