// Specs for the simulator's tests: presets and random ones of every architecture.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <vector>

#include "reference/spec/architecture.hpp"
#include "reference/spec/config.hpp"

namespace orthros::test {

inline ModelSpec preset(const char* name, const char* architecture,
                        std::optional<int64_t> window = std::nullopt) {
  ArchitectureRequest request;
  request.name = architecture;
  request.window = window;
  return to_architecture(load_model_spec(name), request);
}

// A small Transformer of random sizes, gated or not, turned into a random architecture.
inline ModelSpec random_spec() {
  ModelSpec spec;
  spec.name = "random";
  spec.vocab = *rc::gen::inRange<int64_t>(1, 50);
  spec.hidden = 8 * *rc::gen::inRange<int64_t>(1, 4);
  const auto layers = *rc::gen::inRange<int64_t>(2, 9);
  SoftmaxAttention attention;
  attention.kv_heads = *rc::gen::inRange<int64_t>(1, 4);
  attention.query_heads = attention.kv_heads * *rc::gen::inRange<int64_t>(1, 4);
  attention.head_width = 2 * *rc::gen::inRange<int64_t>(1, 4);
  attention.gated = *rc::gen::arbitrary<bool>();
  for (int64_t i = 0; i < layers; ++i) {
    // Layers of two FFN widths, so that groups differ.
    spec.layers.push_back({attention, {i % 2 == 0 ? int64_t{12} : int64_t{20}}});
  }
  ArchitectureRequest request;
  request.name = *rc::gen::elementOf(architecture_names());
  request.window = *rc::gen::inRange<int64_t>(1, 12);
  request.linear.key_heads = *rc::gen::inRange<int64_t>(1, 3);
  request.linear.value_heads = *request.linear.key_heads * *rc::gen::inRange<int64_t>(1, 3);
  request.linear.key_width = 2 * *rc::gen::inRange<int64_t>(1, 4);
  request.linear.value_width = *rc::gen::inRange<int64_t>(1, 6);
  return to_architecture(spec, request);
}

}  // namespace orthros::test
