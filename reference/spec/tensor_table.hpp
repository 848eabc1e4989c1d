// The names and shapes of a spec's weights, in Hugging Face layout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/spec/model_spec.hpp"

namespace orthros {

// What a tensor is to the model; decides how it is drawn at random and converted.
enum class TensorRole {
  embedding,    // vocab x D
  linear,       // out x in
  norm,         // RMSNorm gain
  scale,        // scale-offset's alpha, Hq x d
  offset,       // scale-offset's beta, Hq x d
  convolution,  // channels x 1 x taps
  bias,         // of the GLA log-gate
  decay_log,    // GDN A_log, one per value head
  decay_bias,   // GDN dt_bias, one per value head
};

struct TensorInfo {
  std::string name;
  std::vector<int64_t> shape;
  TensorRole role;
  int64_t elements() const;
};

// Every tensor of the model, embeddings first, then layers in order, the final norm and the head
// (absent where embeddings are tied). The spec must be valid.
std::vector<TensorInfo> tensor_table(const ModelSpec& spec);

// Sum of elements over tensor_table.
int64_t parameter_count(const ModelSpec& spec);

// Prefix of layer i's tensors: "model.layers.i.".
std::string layer_prefix(int64_t layer);

// Tensors of the decoder-decoder's shared KV are under this prefix: norm, k_proj, v_proj, k_norm.
constexpr const char* shared_kv_prefix = "model.shared_kv.";

}  // namespace orthros
