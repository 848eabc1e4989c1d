// Sums the ops of a step.
#include "sim/step_cost.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/prefill_steps.hpp"

namespace orthros {
namespace {

// Kept between calls so that a question does not allocate.
std::vector<Op>& scratch() {
  thread_local std::vector<Op> ops;
  ops.clear();
  return ops;
}

}  // namespace

StepCost::StepCost(CountModel model, const Deployment& deployment, const Profile& profile,
                   const Hardware& hardware)
    : model_(std::move(model)),
      deployment_(deployment),
      timing_(timing_on(profile, hardware, deployment.weight_bytes)),
      per_prompt_s_(profile.step.per_prompt_s +
                    profile.step.per_prompt_group_s *
                        std::log2(static_cast<double>(deployment.tensor_parallel))) {}

double StepCost::op_seconds(const Op& op) const {
  return static_cast<double>(op.count) * timing_.law(op, deployment_.gpus()).seconds(op);
}

double StepCost::op_sum_seconds(const Op& op, int64_t steps) const {
  return static_cast<double>(op.count) * timing_.law(op, deployment_.gpus()).sum_seconds(op, steps);
}

double StepCost::software_seconds(std::span<const PrefillChunk> prefill,
                                  const DecodeLoad& decode) const {
  double tokens = 0.0;
  double prompts = 0.0;
  auto sequences = static_cast<double>(decode.sequences);
  for (const PrefillChunk& chunk : prefill) {
    tokens += static_cast<double>(chunk.sequences) * static_cast<double>(chunk.tokens);
    prompts += static_cast<double>(chunk.sequences);
    if (chunk.logits) sequences += static_cast<double>(chunk.sequences);
  }
  if (tokens == 0.0 && sequences == 0.0) return 0.0;
  const StepSoftware& step = timing_.step;
  return step.per_step_s + step.per_sequence_s * sequences + step.per_token_s * tokens +
         per_prompt_s_ * prompts;
}

double StepCost::seconds(const Deployment& to, std::span<const PrefillChunk> prefill,
                         const DecodeLoad& decode) const {
  std::vector<Op>& ops = scratch();
  append_ops(model_, to, prefill, decode, ops);
  double total = software_seconds(prefill, decode);
  if (total == 0.0 && prefill.empty() && decode.sequences == 0) return 0.0;
  double kernels = 0.0;
  for (const Op& op : ops) kernels += op_seconds(op);
  return total + (prefill.empty() ? kernels : kernels * stretch(ops));
}

double StepCost::stretch(std::span<const Op> ops) const {
  double kernels = 0.0;
  double drawn = 0.0;
  for (const Op& op : ops) {
    const double seconds = op_seconds(op);
    kernels += seconds;
    drawn += seconds * timing_.law(op, deployment_.gpus()).power;
  }
  return kernels > 0.0 ? std::max(1.0, drawn / kernels) : 1.0;
}

double StepCost::prefill_seconds(int64_t batch, int64_t input) const {
  double total = 0.0;
  for_each_prefill_step(
      *this, batch, input,
      [&](const Deployment& to, std::span<const PrefillChunk> pass, int64_t times) {
        total += static_cast<double>(times) * seconds(to, pass, DecodeLoad{});
      });
  return total;
}

double StepCost::decode_seconds(const DecodeLoad& load, int64_t steps) const {
  if (load.sequences == 0 || steps <= 0) return 0.0;
  std::vector<Op>& ops = scratch();
  append_ops(model_, deployment_, {}, load, ops);
  double total = static_cast<double>(steps) * software_seconds({}, load);
  for (const Op& op : ops) total += op_sum_seconds(op, steps);
  return total;
}

int64_t StepCost::decode_steps_within(const DecodeLoad& load, int64_t limit, double seconds) const {
  // Sums are increasing in the number of steps, so bisection finds the last that fits.
  int64_t fits = 0;
  int64_t over = limit + 1;
  if (decode_seconds(load, limit) <= seconds) return limit;
  while (over - fits > 1) {
    const int64_t middle = fits + (over - fits) / 2;
    (decode_seconds(load, middle) <= seconds ? fits : over) = middle;
  }
  return fits;
}

double StepCost::uniform_decode_seconds(int64_t batch, int64_t n, int64_t steps) const {
  double total = 0.0;
  while (steps > 0) {
    const DecodeLoad load = uniform_decode(model_, batch, n);
    const int64_t run = std::min(steps, load.steady_steps);
    total += decode_seconds(load, run);
    n += run;
    steps -= run;
  }
  return total;
}

}  // namespace orthros
