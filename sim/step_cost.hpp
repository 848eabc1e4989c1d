// StepCost: the seconds of an engine step, alone or summed over a run of decode steps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/counts.hpp"
#include "sim/ops.hpp"
#include "sim/profile.hpp"

namespace orthros {

// One model on one deployment with one profile on one GPU type. Immutable and cheap to ask: a
// question costs about a microsecond and allocates nothing once a thread has asked before.
class StepCost {
 public:
  StepCost(CountModel model, const Deployment& deployment, const Profile& profile,
           const Hardware& hardware);

  // A step that runs these prefill pieces and one decode token for each sequence of `decode`.
  // Every kernel in turn, plus the step's software cost. 0 for a step with nothing in it.
  double seconds(std::span<const PrefillChunk> prefill, const DecodeLoad& decode) const {
    return seconds(deployment_, prefill, decode);
  }
  // The same, laid out otherwise over the same GPUs.
  double seconds(const Deployment& to, std::span<const PrefillChunk> prefill,
                 const DecodeLoad& decode) const;

  // `batch` prompts of `input` tokens, in the steps of prefill_steps.hpp.
  double prefill_seconds(int64_t batch, int64_t input) const;

  // Decode alone: `steps` steps, the first at `load`, each later one with every context one longer.
  // Within load.steady_steps (else split there); a sum over pieces in which every kernel is affine
  // in the step, exact up to rounding.
  double decode_seconds(const DecodeLoad& load, int64_t steps) const;

  // The most steps (at most `limit`) of such a run that end within `seconds`.
  int64_t decode_steps_within(const DecodeLoad& load, int64_t limit, double seconds) const;

  // Decode of `batch` equal sequences at n, n+1, .. n+steps-1, split where windows fill.
  double uniform_decode_seconds(int64_t batch, int64_t n, int64_t steps) const;

  // Of all prompts in a pass, over every GPU that shares a sequence; 0: one pass.
  int64_t pass_tokens() const { return timing_.pass_tokens * deployment_.sequence_parallel; }

  double op_seconds(const Op& op) const;  // of all its `count` launches
  // How much longer a step of these ops takes than they do, for power: at least 1.
  double stretch(std::span<const Op> ops) const;
  double op_sum_seconds(const Op& op, int64_t steps) const;

  const CountModel& model() const { return model_; }
  const Deployment& deployment() const { return deployment_; }
  const Timing& timing() const { return timing_; }

 private:
  double software_seconds(std::span<const PrefillChunk> prefill, const DecodeLoad& decode) const;

  CountModel model_;
  Deployment deployment_;
  Timing timing_;
  double per_prompt_s_ = 0.0;
};

}  // namespace orthros
