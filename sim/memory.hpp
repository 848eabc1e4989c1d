// Memory of a deployment: weights, caches, states.
#pragma once

#include <cstdint>

#include "sim/counts.hpp"
#include "sim/ops.hpp"

namespace orthros {

// Bytes on one GPU of the deployment.
struct Memory {
  int64_t weights = 0;
  int64_t kv_per_token = 0;  // what one more token adds while no window is full
  int64_t kv = 0;
  int64_t state = 0;  // recurrent states and convolution taps
  int64_t total = 0;
};

// `batch` sequences that hold `tokens` tokens each. Windowed layers of one stream keep at most w
// tokens; two streams keep all, for the output stream reads all. Linear layers keep one fp32 state
// per value head and conv_width - 1 inputs per channel. Tensor parallelism splits weights and heads
// (at least one KV head a rank), sequence parallelism tokens, left context that is run again with
// them. 64-bit overflow is an InputError.
Memory memory_of(const CountModel& model, const Deployment& deployment, int64_t batch,
                 int64_t tokens);

// Working memory of a step that prefills `tokens` rows at once: the widest intermediate of a layer
// beside the residual stream, and fp32 logits of `outputs` rows.
int64_t activation_bytes(const CountModel& model, const Deployment& deployment, int64_t tokens,
                         int64_t outputs);

// The largest batch at `tokens` each, and the longest context at `batch`, that fit `capacity` bytes
// beside `reserved` ones; 0 where not even one does.
int64_t largest_batch(const CountModel& model, const Deployment& deployment, int64_t tokens,
                      int64_t capacity, int64_t reserved);
int64_t largest_context(const CountModel& model, const Deployment& deployment, int64_t batch,
                        int64_t capacity, int64_t reserved);

}  // namespace orthros
