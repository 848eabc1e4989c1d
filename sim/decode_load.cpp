// The load of a decode step and how it grows.
#include <algorithm>

#include "sim/ops.hpp"

namespace orthros {

void DecodeLoad::add(const CountModel& model, int64_t n, int64_t sequences_at_n) {
  sequences = checked_sum(sequences, sequences_at_n, "batch");
  keys =
      checked_sum(keys, checked_product(sequences_at_n, n, "batch x context"), "batch x context");
  for (size_t i = 0; i < model.windows.size(); ++i) {
    const int64_t w = model.windows[i];
    window_keys[i] += sequences_at_n * std::min(n, w);
    if (n < w) {
      window_growth[i] += sequences_at_n;
      steady_steps = std::min(steady_steps, w - n);
    }
  }
}

DecodeLoad DecodeLoad::after(int64_t steps) const {
  DecodeLoad later = *this;
  later.keys += steps * sequences;
  for (size_t i = 0; i < most_windows; ++i) later.window_keys[i] += steps * window_growth[i];
  later.steady_steps -= steps;
  return later;
}

DecodeLoad uniform_decode(const CountModel& model, int64_t batch, int64_t n) {
  DecodeLoad load;
  load.add(model, n, batch);
  return load;
}

DecodeLoad decode_load(const CountModel& model, std::span<const int64_t> contexts) {
  DecodeLoad load;
  for (int64_t n : contexts) load.add(model, n);
  return load;
}

}  // namespace orthros
