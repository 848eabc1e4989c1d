// Small models of fixed shape for unit tests, and tokens for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/model/weight_source.hpp"
#include "reference/spec/architecture.hpp"
#include "reference/weights/counter_random.hpp"

namespace orthros {

// 2 layers (4 for the hybrids, whose fourth is full), 3 query heads a KV head, head width 4,
// vocabulary 23.
inline ModelSpec fixed_spec(const std::string& architecture, int64_t window) {
  SoftmaxAttention mixer;
  mixer.query_heads = 6;
  mixer.kv_heads = 2;
  mixer.head_width = 4;
  mixer.qk_norm = true;
  mixer.rope = Rope{};
  mixer.rope->width = mixer.head_width;
  const bool hybrid = architecture == "linear-hybrid" || architecture == "orthros-h";
  ModelSpec spec;
  spec.name = "fixed";
  spec.vocab = 23;
  spec.hidden = 8;
  spec.layers.assign(hybrid ? 4 : 2, Layer{mixer, SwiGlu{10}});
  ArchitectureRequest request;
  request.name = architecture;
  request.window = window;
  request.linear.key_width = 4;
  request.linear.value_width = 4;
  return to_architecture(spec, request);
}

inline RandomWeights fixed_weights(const ModelSpec& spec) {
  return {7, spec.norm};
}

inline std::vector<int64_t> fixed_tokens(int64_t count, uint64_t seed = 3) {
  const CounterRandom random(seed, "tokens");
  std::vector<int64_t> tokens(static_cast<size_t>(count));
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int64_t>(random.bits(i) % 23);
  return tokens;
}

}  // namespace orthros
