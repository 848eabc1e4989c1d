// Random configs for properties: shapes from a few bits, never tensors.
#pragma once

#include <rapidcheck.h>

#include "reference/spec/architecture.hpp"
#include "tests/reference/spec/configs.hpp"

namespace orthros {

// A valid config of one of the Transformer families, every optional field as often absent.
inline Json any_transformer_config() {
  const auto flip = [] { return *rc::gen::arbitrary<bool>(); };
  const auto kv_heads = *rc::gen::inRange<int64_t>(1, 5);
  const auto group = *rc::gen::inRange<int64_t>(1, 8);
  const auto half_width = *rc::gen::inRange<int64_t>(1, 20);
  const int64_t heads = kv_heads * group;
  Json config = llama_config();
  config["model_type"] = *rc::gen::element("llama", "mistral", "qwen3", "orthros");
  config["num_attention_heads"] = heads;
  config["num_key_value_heads"] = kv_heads;
  // An even K = D / Hq for retention: head_dim = hidden / heads, or said apart from it.
  config["hidden_size"] = heads * 2 * *rc::gen::inRange<int64_t>(8, 20);
  config["head_dim"] = 2 * half_width;
  if (flip() && config["hidden_size"].get<int64_t>() % (2 * heads) == 0) config.erase("head_dim");
  config["num_hidden_layers"] = *rc::gen::inRange<int64_t>(2, 13);
  config["intermediate_size"] = *rc::gen::inRange<int64_t>(1, 200);
  config["vocab_size"] = *rc::gen::inRange<int64_t>(1, 500);
  config["tie_word_embeddings"] = flip();
  config["rope_theta"] = *rc::gen::element(1e4, 5e5, 1e6);
  if (flip()) config["eos_token_id"] = 0;
  if (flip()) config["torch_dtype"] = *rc::gen::element("float16", "float32", "bfloat16");
  if (flip()) config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 2.0}};
  const std::string type = config["model_type"];
  if (type == "orthros") {
    config["sliding_window"] = *rc::gen::inRange<int64_t>(1, 300);
    config["scale_offset"] = flip();
    if (flip()) config["qk_norm"] = flip();
    if (flip()) config["scale_offset_placement"] = "before_qk_norm";
  } else if (type != "llama" && flip()) {
    config["sliding_window"] = *rc::gen::inRange<int64_t>(1, 300);
    config["use_sliding_window"] = flip();
    config["max_window_layers"] = *rc::gen::inRange<int64_t>(0, 13);
  }
  return config;
}

// A valid Qwen3.5 config, flat or nested, at times with no full layer or none but full ones.
inline Json any_hybrid_config() {
  Json config = config_of("qwen3_5_text");
  config["num_hidden_layers"] = *rc::gen::inRange<int64_t>(1, 13);
  config["full_attention_interval"] = *rc::gen::inRange<int64_t>(1, 6);
  config["tie_word_embeddings"] = *rc::gen::arbitrary<bool>();
  config["linear_num_value_heads"] = 2 * *rc::gen::inRange<int64_t>(1, 4);
  if (*rc::gen::arbitrary<bool>()) return config;
  const bool tied = config["tie_word_embeddings"];
  return {{"model_type", "qwen3_5"}, {"tie_word_embeddings", tied}, {"text_config", config}};
}

inline ArchitectureRequest any_request() {
  ArchitectureRequest request;
  request.name = *rc::gen::elementOf(architecture_names());
  if (*rc::gen::arbitrary<bool>()) request.window = *rc::gen::inRange<int64_t>(1, 300);
  if (*rc::gen::inRange(0, 3) == 0) {
    request.scale_offset = *rc::gen::element(ScaleOffset::none, ScaleOffset::after_qk_norm,
                                             ScaleOffset::before_qk_norm);
  }
  if (*rc::gen::inRange(0, 3) == 0) {
    request.linear.key_heads = *rc::gen::inRange<int64_t>(1, 5);
    request.linear.value_heads = *request.linear.key_heads * *rc::gen::inRange<int64_t>(1, 4);
    request.linear.key_width = 2 * *rc::gen::inRange<int64_t>(1, 9);
    if (*rc::gen::arbitrary<bool>()) request.linear.value_width = *rc::gen::inRange<int64_t>(1, 20);
    if (*rc::gen::arbitrary<bool>()) request.linear.conv_width = *rc::gen::inRange<int64_t>(1, 6);
    if (*rc::gen::arbitrary<bool>()) request.linear.gate_rank = *rc::gen::inRange<int64_t>(1, 20);
  }
  return request;
}

}  // namespace orthros
