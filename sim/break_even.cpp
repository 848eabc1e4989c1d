// Bisections over costs.
#include "sim/break_even.hpp"

#include <algorithm>

#include "sim/training.hpp"

namespace orthros {
namespace {

double end_to_end(const StepCost& cost, int64_t input, int64_t output, int64_t batch) {
  const PrefillChunk prefill{batch, 0, input, true};
  return cost.seconds({&prefill, 1}, {}) +
         cost.uniform_decode_seconds(batch, input + 1, output - 1);
}

}  // namespace

std::optional<int64_t> break_even_output(const StepCost& slower, const StepCost& faster,
                                         int64_t input, int64_t batch, double gain, int64_t limit) {
  const auto pays = [&](int64_t output) {
    return end_to_end(slower, input, output, batch) >=
           gain * end_to_end(faster, input, output, batch);
  };
  if (!pays(1)) return std::nullopt;
  int64_t good = 1;
  int64_t bad = limit + 1;
  while (bad - good > 1) {
    const int64_t middle = good + (bad - good) / 2;
    (pays(middle) ? good : bad) = middle;
  }
  return good;
}

std::optional<int64_t> doubled_rows_batch(const StepCost& single, const StepCost& dual, int64_t n,
                                          double slack, int64_t limit) {
  for (int64_t batch = 1; batch <= limit; ++batch) {
    const double one = single.decode_seconds(uniform_decode(single.model(), batch, n), 1);
    const double two = dual.decode_seconds(uniform_decode(dual.model(), batch, n), 1);
    if (two > (1.0 + slack) * one) return batch;
  }
  return std::nullopt;
}

std::optional<double> repaying_requests(const CountModel& dear_to_train,
                                        const CountModel& dear_to_serve, int64_t input,
                                        int64_t output, double training_tokens, int64_t length) {
  const double extra = training_tokens * (pretrain_flops_per_token(dear_to_train, length) -
                                          pretrain_flops_per_token(dear_to_serve, length));
  const auto served = [&](const CountModel& model) {
    return prefill_macs(model, input, RecurrentForm::chunkwise) + decode_macs(model, input, output);
  };
  const double saved = 2.0 * static_cast<double>(served(dear_to_serve) - served(dear_to_train));
  if (saved <= 0.0) return std::nullopt;
  return std::max(extra, 0.0) / saved;
}

}  // namespace orthros
