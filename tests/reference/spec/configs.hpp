// Configs for tests: small valid ones to change field by field.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "reference/spec/config.hpp"
#include "reference/spec/json_fields.hpp"

namespace orthros {

using Json = nlohmann::json;

inline Json llama_config() {
  return Json::parse(R"({"model_type": "llama", "vocab_size": 100, "hidden_size": 64,
    "intermediate_size": 96, "num_hidden_layers": 5, "num_attention_heads": 8,
    "num_key_value_heads": 2, "hidden_act": "silu", "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": false,
    "torch_dtype": "bfloat16"})");
}

inline Json config_of(const char* model_type) {
  Json config = llama_config();
  config["model_type"] = model_type;
  if (config["model_type"] == "orthros") config["sliding_window"] = 4;
  if (config["model_type"] == "qwen3_5_text") {
    config.update(Json::parse(R"({"head_dim": 16, "linear_num_key_heads": 2,
      "linear_num_value_heads": 4, "linear_key_head_dim": 16, "linear_value_head_dim": 16,
      "linear_conv_kernel_dim": 4, "partial_rotary_factor": 0.25})"));
  }
  return config;
}

// `config` with the fields of `changes` put over it (nulls among them); {} changes nothing.
inline Json with(Json config, const Json& changes) {
  if (!changes.is_null()) config.update(changes);
  return config;
}

inline Json without(Json config, const char* field) {
  config.erase(field);
  return config;
}

inline ModelSpec read(const Json& config) {
  return spec_from_config(config, "config.json");
}

inline const SoftmaxAttention& softmax_of(const ModelSpec& spec, size_t layer = 0) {
  return std::get<SoftmaxAttention>(spec.layers.at(layer).mixer);
}

inline const LinearMixer& linear_of(const ModelSpec& spec, size_t layer = 0) {
  return std::get<LinearMixer>(spec.layers.at(layer).mixer);
}

inline bool is_linear(const ModelSpec& spec, size_t layer) {
  return std::holds_alternative<LinearMixer>(spec.layers.at(layer).mixer);
}

// Each layer's window, 0 for none.
inline std::vector<int64_t> windows_of(const ModelSpec& spec) {
  std::vector<int64_t> windows;
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    windows.push_back(softmax_of(spec, i).window.value_or(0));
  }
  return windows;
}

inline const std::filesystem::path goldens = std::filesystem::path(ORTHROS_TEST_DATA) / "goldens";

// The config of a golden checkpoint.
inline Json golden_config(const std::string& name) {
  return read_json_file(goldens / (name + ".json")).at("config");
}

inline const char* const golden_names[] = {"llama3_tiny", "mistral_swa4_tiny", "orthros_tiny",
                                           "qwen3_5_text_tiny", "qwen3_tiny"};

// Two specs that say the same model; what only names where it came from does not count.
inline bool same_model(ModelSpec a, ModelSpec b) {
  const auto described = [](const ModelSpec& spec) {
    return std::tie(spec.vocab, spec.hidden, spec.layers, spec.streams, spec.norm, spec.norm_eps,
                    spec.tied_embeddings, spec.max_positions, spec.eos, spec.dtype);
  };
  return described(a) == described(b);
}

}  // namespace orthros
