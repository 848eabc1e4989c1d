// CudnnAttention: causal attention of prompts by cuDNN, a baseline of time for a Transformer's
// prefill.
#pragma once

#include <memory>
#include <string>

#include "cuda/engine/prompt_attention.hpp"

namespace orthros::cuda {

// In an order of cuDNN's choosing, so outside the promise of bits: only the bench uses it. cuDNN is
// looked for when one is made, so that a program starts where there is none.
class CudnnAttention : public PromptAttention {
 public:
  // For the current device. InputError where this build was configured without cuDNN's headers, or
  // where no cuDNN 9.6 or later 9 is found.
  CudnnAttention();
  ~CudnnAttention() override;

  // Widths that are a multiple of 8. The first call for a pair of a run's count and position
  // compiles a kernel, for a fraction of a second. DeviceError where cuDNN fails or has no kernel
  // for the shape.
  void attend(const Attention& call, std::span<const QueryRun> runs) override;

  // "9.19.0"
  const std::string& version() const;
  // That attend() spent so far on compiling.
  double compiling_seconds() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace orthros::cuda
