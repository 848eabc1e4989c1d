// AttentionPlan: a graph of attention with the kernels that cuDNN chose for it.
#pragma once

#include "cuda/cudnn/attention_graph.hpp"

namespace orthros::cuda {

struct AttentionMemory {
  const bf16_bits* q;       // first of the problem's rows
  const bf16_bits* keys;    // the sequence's entry 0 of head 0
  const bf16_bits* values;  // likewise
  bf16_bits* out;           // as q
};

class AttentionPlan {
 public:
  // DeviceError where cuDNN has no kernel for the problem. Its first choice is taken.
  AttentionPlan(const CudnnLibrary& library, cudnnHandle_t handle, const AttentionProblem& problem);

  int64_t workspace_bytes() const { return workspace_bytes_; }
  // In the handle's stream. `workspace`: device, at least workspace_bytes().
  void execute(cudnnHandle_t handle, const AttentionMemory& memory, void* workspace);

 private:
  void choose(cudnnHandle_t handle);

  const CudnnLibrary& library_;
  AttentionGraph graph_;
  Descriptor plan_;
  int64_t workspace_bytes_ = 0;
  float scale_;  // 1 / sqrt(d): cuDNN's powers are of e, not of two
  int32_t queries_;
  int32_t keys_;
};

}  // namespace orthros::cuda
