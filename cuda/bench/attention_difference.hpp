// How far another attention is from the engine's own, and how long both take.
#pragma once

#include "cuda/engine/device_model.hpp"
#include "cuda/engine/prompt_attention.hpp"

namespace orthros::cuda {

// Outputs of one prompt's last `queries` positions over all of its `keys`; q, k, v standard normal.
struct AttentionDifference {
  int64_t queries = 0;
  int64_t keys = 0;
  double largest = 0.0;  // difference of two outputs
  double rms = 0.0;      // of the differences
  double output_rms = 0.0;
  double engine_s = 0.0;  // range_attention; bursts
  double other_s = 0.0;
};

// A model whose layers range_attention fits; `queries` at most `keys`.
AttentionDifference compare_attention(const ModelSpec& spec, PromptAttention& other,
                                      int64_t queries, int64_t keys);

}  // namespace orthros::cuda
