// Sizes of an engine's caches and buffers.
#pragma once

#include <cstdint>

#include "cuda/layout/rows.hpp"
#include "cuda/linear/linear.hpp"
#include "reference/hopper/softmax_order.hpp"
#include "reference/spec/model_spec.hpp"

namespace orthros::cuda {

// Widths of the packed tensors' rows, in elements as they lie in memory.
struct RowWidths {
  int64_t hidden;   // D
  int64_t qkv;      // (Hq + 2 Hkv) d
  int64_t query;    // Hq d
  int64_t gate_up;  // 2 F, F up to a multiple of 8
  int64_t ffn;      // F
  int64_t logits;   // vocab, floats

  explicit RowWidths(const ModelSpec& spec) {
    const auto& mixer = std::get<SoftmaxAttention>(spec.layers[0].mixer);
    const int64_t f = spec.layers[0].ffn.width;
    hidden = padded16(spec.hidden);
    qkv = padded16(mixer.query_width() + 2 * mixer.kv_width());
    query = padded16(mixer.query_width());
    gate_up = 2 * ((f + 7) / 8 * 8);
    ffn = padded16(f);
    logits = padded16(spec.vocab);
  }
};

inline AttentionShape attention_shape(const ModelSpec& spec) {
  const auto& mixer = std::get<SoftmaxAttention>(spec.layers[0].mixer);
  return {mixer.query_heads, mixer.kv_heads, mixer.head_width,
          hopper::score_scale(mixer.head_width)};
}

// One layer's keys, or values: sequence_stride between sequences, head_stride between heads.
struct CacheShape {
  int64_t layers;
  int64_t sequences;
  int64_t kv_heads;
  int64_t width;            // d
  int64_t head_stride;      // context up to a multiple of 64, times d
  int64_t sequence_stride;  // at least kv_heads * head_stride
  // Behind the last entry, so that a kernel may load whole tiles of keys.
  static constexpr int64_t slack_tokens = 512;

  int64_t layer_elements() const {
    return (sequences - 1) * sequence_stride + kv_heads * head_stride;
  }
  int64_t elements() const { return layers * layer_elements() + slack_tokens * width; }
};

}  // namespace orthros::cuda
