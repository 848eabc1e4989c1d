// PromptAttention: attention of a prompt's rows by something other than the engine's own kernels.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "cuda/kernels/attention.hpp"

namespace orthros::cuda {

class PromptAttention {
 public:
  virtual ~PromptAttention() = default;

  // o_t = sum_s softmax_s(q_t k_s / sqrt(d)) v_s over s <= t for every row of `runs` (host), in
  // call.stream: base rows of a layer without a window, whose keys are all written. call.rows and
  // written need not be read.
  virtual void attend(const Attention& call, std::span<const QueryRun> runs) = 0;
};

// Makes one for an engine on the current device.
using PromptAttentionMaker = std::function<std::unique_ptr<PromptAttention>()>;

}  // namespace orthros::cuda
