// Configs as they stand on the Hugging Face hub, read as transformers means them.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/spec/architecture.hpp"
#include "reference/spec/tensor_table.hpp"
#include "tests/reference/spec/configs.hpp"
#include "tests/reference/spec/refusal.hpp"

namespace orthros {
namespace {

TEST(published_configs, qwen3_0_6b) {
  const ModelSpec spec = read(Json::parse(R"({"architectures": ["Qwen3ForCausalLM"],
    "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 151643,
    "eos_token_id": 151645, "head_dim": 128, "hidden_act": "silu", "hidden_size": 1024,
    "initializer_range": 0.02, "intermediate_size": 3072, "max_position_embeddings": 40960,
    "max_window_layers": 28, "model_type": "qwen3", "num_attention_heads": 16,
    "num_hidden_layers": 28, "num_key_value_heads": 8, "rms_norm_eps": 1e-06,
    "rope_scaling": null, "rope_theta": 1000000, "sliding_window": null,
    "tie_word_embeddings": true, "torch_dtype": "bfloat16", "transformers_version": "4.51.0",
    "use_cache": true, "use_sliding_window": false, "vocab_size": 151936})"));
  EXPECT_EQ(architecture_of(spec), "transformer");
  EXPECT_EQ(spec.layers.size(), 28u);
  EXPECT_EQ(softmax_of(spec).query_width(), 2048);  // wider than the model
  EXPECT_EQ(softmax_of(spec).kv_width(), 1024);
  EXPECT_TRUE(softmax_of(spec).qk_norm);
  EXPECT_FALSE(softmax_of(spec).gated);
  EXPECT_EQ(softmax_of(spec).rope->theta, 1e6);
  EXPECT_EQ(softmax_of(spec).rope->width, 128);
  EXPECT_EQ(softmax_of(spec).rope->scaling, RopeScaling::none);
  EXPECT_TRUE(spec.tied_embeddings);
  EXPECT_EQ(spec.eos, std::vector<int64_t>{151645});
  EXPECT_EQ(spec.max_positions, 40960);
  EXPECT_EQ(spec.norm, NormKind::plain);
  EXPECT_EQ(spec.norm_eps, 1e-6);
  EXPECT_EQ(spec.dtype, Dtype::bf16);
  EXPECT_EQ(spec.model_type, "qwen3");
  EXPECT_EQ(parameter_count(spec), 596'049'920);  // the 0.6B of its name, embeddings once
}

// q_proj of Qwen3-4B is 4096 x 2560: its head_dim is stated, not hidden / heads (80).
TEST(published_configs, qwen3_4b_reads_head_dim) {
  const ModelSpec spec = read(Json::parse(R"({"architectures": ["Qwen3ForCausalLM"],
    "attention_bias": false, "head_dim": 128, "hidden_act": "silu", "hidden_size": 2560,
    "intermediate_size": 9728, "max_position_embeddings": 262144, "max_window_layers": 36,
    "model_type": "qwen3", "num_attention_heads": 32, "num_hidden_layers": 36,
    "num_key_value_heads": 8, "rms_norm_eps": 1e-06, "rope_scaling": null,
    "rope_theta": 5000000, "sliding_window": null, "tie_word_embeddings": true,
    "torch_dtype": "bfloat16", "use_sliding_window": false, "vocab_size": 151936})"));
  EXPECT_EQ(softmax_of(spec).head_width, 128);
  for (const TensorInfo& tensor : tensor_table(spec)) {
    if (tensor.name == "model.layers.0.self_attn.q_proj.weight") {
      EXPECT_EQ(tensor.shape, (std::vector<int64_t>{4096, 2560}));
      EXPECT_EQ(tensor.elements(), 10'485'760);
    }
  }
  EXPECT_EQ(parameter_count(spec), 4'022'468'096);  // the hub's figure
}

TEST(published_configs, qwen3_32b_with_its_cards_yarn) {
  const ModelSpec spec = read(Json::parse(R"({"attention_bias": false, "head_dim": 128,
    "hidden_act": "silu", "hidden_size": 5120, "intermediate_size": 25600,
    "max_position_embeddings": 40960, "max_window_layers": 64, "model_type": "qwen3",
    "num_attention_heads": 64, "num_hidden_layers": 64, "num_key_value_heads": 8,
    "rms_norm_eps": 1e-06, "rope_theta": 1000000, "sliding_window": null,
    "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
                     "original_max_position_embeddings": 32768},
    "tie_word_embeddings": false, "torch_dtype": "bfloat16", "use_sliding_window": false,
    "vocab_size": 151936})"));
  const Rope& rope = *softmax_of(spec).rope;
  EXPECT_EQ(rope.scaling, RopeScaling::yarn);
  EXPECT_EQ(rope.factor, 4.0);
  EXPECT_EQ(rope.original_max_position, 32768);
  EXPECT_EQ(rope.beta_fast, 32.0);
  EXPECT_EQ(rope.beta_slow, 1.0);
  EXPECT_TRUE(rope.truncate);
  EXPECT_DOUBLE_EQ(rope.attention_factor, 0.1 * std::log(4.0) + 1.0);
  EXPECT_EQ(parameter_count(spec), 32'762'123'264);  // the hub's figure
  const SoftmaxAttention& mixer = softmax_of(spec);
  EXPECT_EQ(2 * 64 * mixer.kv_width() * bytes_of(spec.dtype), 262'144);  // KV bytes per token
}

// Llama 2 as first published: the base of its rotary angles stands nowhere.
TEST(published_configs, llama_2_7b_needs_its_rope_theta_said) {
  const Json config = Json::parse(R"({"_name_or_path": "meta-llama/Llama-2-7b-hf",
    "architectures": ["LlamaForCausalLM"], "bos_token_id": 1, "eos_token_id": 2,
    "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
    "intermediate_size": 11008, "max_position_embeddings": 4096, "model_type": "llama",
    "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32,
    "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": null,
    "tie_word_embeddings": false, "torch_dtype": "float16",
    "transformers_version": "4.31.0.dev0", "use_cache": true, "vocab_size": 32000})");
  EXPECT_TRUE(
      names(refusal_of([&] { return read(config); }), "config.json", "rope_theta", "10000"));
  const ModelSpec spec = read(with(config, {{"rope_theta", 10000.0}}));
  EXPECT_EQ(spec.dtype, Dtype::f16);
  EXPECT_EQ(softmax_of(spec).head_width, 128);
  EXPECT_EQ(softmax_of(spec).kv_heads, 32);
  EXPECT_FALSE(softmax_of(spec).qk_norm);
  EXPECT_EQ(parameter_count(spec), 6'738'415'616);  // the hub's figure
}

TEST(published_configs, llama_3_1_8b) {
  const ModelSpec spec = read(Json::parse(R"({"architectures": ["LlamaForCausalLM"],
    "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 128000,
    "eos_token_id": [128001, 128008, 128009], "hidden_act": "silu", "hidden_size": 4096,
    "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 131072,
    "mlp_bias": false, "model_type": "llama", "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 8, "pretraining_tp": 1,
    "rms_norm_eps": 1e-05,
    "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                     "original_max_position_embeddings": 8192, "rope_type": "llama3"},
    "rope_theta": 500000.0, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
    "transformers_version": "4.42.3", "use_cache": true, "vocab_size": 128256})"));
  EXPECT_EQ(softmax_of(spec).head_width, 128);  // hidden / heads
  EXPECT_EQ(spec.eos, (std::vector<int64_t>{128001, 128008, 128009}));
  const Rope& rope = *softmax_of(spec).rope;
  EXPECT_EQ(rope.scaling, RopeScaling::llama3);
  EXPECT_EQ(rope.factor, 8.0);
  EXPECT_EQ(rope.low_freq_factor, 1.0);
  EXPECT_EQ(rope.high_freq_factor, 4.0);
  EXPECT_EQ(rope.original_max_position, 8192);
  EXPECT_EQ(rope.attention_factor, 1.0);
  EXPECT_EQ(parameter_count(spec), 8'030'261'248);  // the hub's figure
}

TEST(published_configs, llama_3_2_1b_is_tied_with_heads_of_64) {
  const ModelSpec spec = read(Json::parse(R"({"attention_bias": false, "head_dim": 64,
    "eos_token_id": 128001, "hidden_act": "silu", "hidden_size": 2048,
    "intermediate_size": 8192, "max_position_embeddings": 131072, "mlp_bias": false,
    "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 16,
    "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
    "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                     "original_max_position_embeddings": 8192, "rope_type": "llama3"},
    "rope_theta": 500000.0, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
    "vocab_size": 128256})"));
  EXPECT_TRUE(spec.tied_embeddings);
  EXPECT_EQ(softmax_of(spec).rope->factor, 32.0);
  EXPECT_EQ(parameter_count(spec), 1'235'814'400);  // the hub's figure
}

Json mistral_7b() {
  return Json::parse(R"({"architectures": ["MistralForCausalLM"], "bos_token_id": 1,
    "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
    "intermediate_size": 14336, "max_position_embeddings": 32768, "model_type": "mistral",
    "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
    "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": 4096,
    "tie_word_embeddings": false, "torch_dtype": "bfloat16",
    "transformers_version": "4.34.0.dev0", "use_cache": true, "vocab_size": 32000})");
}

TEST(published_configs, mistral_7b_v0_1_is_windowed_and_later_ones_are_not) {
  const ModelSpec first = read(mistral_7b());
  EXPECT_EQ(architecture_of(first), "swa");
  EXPECT_EQ(windows_of(first), std::vector<int64_t>(32, 4096));
  EXPECT_EQ(parameter_count(first), 7'241'732'096);  // the hub's figure
  const ModelSpec second =
      read(with(mistral_7b(), {{"sliding_window", nullptr}, {"rope_theta", 1e6}}));
  EXPECT_EQ(architecture_of(second), "transformer");
  const ModelSpec third = read(with(
      mistral_7b(), {{"sliding_window", nullptr}, {"rope_theta", 1e6}, {"vocab_size", 32768}}));
  EXPECT_EQ(parameter_count(third), 7'248'023'552);  // the hub's figure
}

TEST(published_configs, mistral_nemo_has_heads_narrower_than_hidden_over_heads) {
  const ModelSpec spec = read(Json::parse(R"({"architectures": ["MistralForCausalLM"],
    "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": 2, "head_dim": 128,
    "hidden_act": "silu", "hidden_size": 5120, "intermediate_size": 14336,
    "max_position_embeddings": 131072, "model_type": "mistral", "num_attention_heads": 32,
    "num_hidden_layers": 40, "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
    "rope_theta": 1000000.0, "sliding_window": null, "tie_word_embeddings": false,
    "torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 131072})"));
  EXPECT_EQ(softmax_of(spec).query_width(), 4096);
  EXPECT_EQ(parameter_count(spec), 12'247'782'400);  // the hub's figure
}

TEST(published_configs, ministral_8b) {
  const ModelSpec spec = read(Json::parse(R"({"architectures": ["MistralForCausalLM"],
    "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": 2, "head_dim": 128,
    "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 12288,
    "max_position_embeddings": 32768, "model_type": "mistral", "num_attention_heads": 32,
    "num_hidden_layers": 36, "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
    "rope_theta": 100000000.0, "sliding_window": 32768, "tie_word_embeddings": false,
    "torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 131072})"));
  EXPECT_EQ(windows_of(spec), std::vector<int64_t>(36, 32768));
  EXPECT_EQ(softmax_of(spec).rope->theta, 1e8);
  EXPECT_EQ(parameter_count(spec), 8'019'808'256);  // the hub's figure
}

// Qwen3.5-9B: the text model nests beside the vision model's fields.
TEST(published_configs, qwen3_5_9b_nested) {
  Json config = Json::parse(R"({"architectures": ["Qwen3_5ForConditionalGeneration"],
    "image_token_id": 248056, "model_type": "qwen3_5", "text_config": {
      "attention_bias": false, "attention_dropout": 0.0, "attn_output_gate": true,
      "dtype": "bfloat16", "eos_token_id": 248044, "full_attention_interval": 4,
      "head_dim": 256, "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
      "intermediate_size": 12288, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
      "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_value_head_dim": 128,
      "mamba_ssm_dtype": "float32", "max_position_embeddings": 262144, "mlp_only_layers": [],
      "model_type": "qwen3_5_text", "mtp_num_hidden_layers": 1,
      "mtp_use_dedicated_embeddings": false, "num_attention_heads": 16,
      "num_hidden_layers": 32, "num_key_value_heads": 4, "partial_rotary_factor": 0.25,
      "rms_norm_eps": 1e-06, "rope_parameters": {"mrope_interleaved": true,
        "mrope_section": [11, 11, 10], "partial_rotary_factor": 0.25,
        "rope_theta": 10000000, "rope_type": "default"},
      "tie_word_embeddings": false, "use_cache": true, "vocab_size": 248320},
    "tie_word_embeddings": false, "transformers_version": "4.57.0.dev0",
    "video_token_id": 248057, "vision_config": {"depth": 27, "hidden_act": "gelu_pytorch_tanh",
      "hidden_size": 1152, "model_type": "qwen3_5", "num_heads": 16},
    "vision_end_token_id": 248054, "vision_start_token_id": 248053})");
  const auto check = [](const ModelSpec& spec) {
    ASSERT_EQ(spec.layers.size(), 32u);
    for (size_t i = 0; i < 32; ++i) EXPECT_EQ(is_linear(spec, i), (i + 1) % 4 != 0) << i;
    EXPECT_EQ(architecture_of(spec), "linear-hybrid");
    EXPECT_EQ(spec.norm, NormKind::zero_centred);
    const SoftmaxAttention& full = softmax_of(spec, 3);
    EXPECT_TRUE(full.gated);
    EXPECT_TRUE(full.qk_norm);
    EXPECT_EQ(full.query_width(), 4096);
    EXPECT_EQ(full.rope->width, 64);
    EXPECT_EQ(full.rope->theta, 1e7);
    EXPECT_EQ(full.rope->scaling, RopeScaling::none);
    const LinearMixer& linear = linear_of(spec, 0);
    EXPECT_EQ(linear.kind, Recurrence::gated_delta);
    EXPECT_EQ(linear.key_heads, 16);
    EXPECT_EQ(linear.value_heads, 32);
    EXPECT_EQ(linear.key_width, 128);
    EXPECT_EQ(linear.value_width, 128);
    EXPECT_EQ(linear.conv_width, 4);
    EXPECT_EQ(spec.eos, std::vector<int64_t>{248044});
    EXPECT_EQ(spec.max_positions, 262144);
    EXPECT_EQ(parameter_count(spec) / 1'000'000, 8953);
  };
  check(read(config));
  EXPECT_EQ(read(config).model_type, "qwen3_5_text");

  // Flat, and with the list of layer types in place of the interval.
  Json flat = config["text_config"];
  check(read(flat));
  flat.erase("full_attention_interval");
  for (size_t i = 0; i < 32; ++i) {
    flat["layer_types"].push_back((i + 1) % 4 == 0 ? "full_attention" : "linear_attention");
  }
  check(read(flat));
  EXPECT_TRUE(same_model(read(flat), read(config)));
  // The list decides where both stand.
  flat["layer_types"][0] = "full_attention";
  flat["full_attention_interval"] = 4;
  EXPECT_FALSE(is_linear(read(flat), 0));

  // What stands beside the nested text counts, too.
  Json top = config;
  top["text_config"].erase("dtype");
  top["torch_dtype"] = "float32";
  top["tie_word_embeddings"] = true;
  top["eos_token_id"] = {248046, 248044};
  top["text_config"].erase("model_type");
  const ModelSpec spec = read(top);
  EXPECT_EQ(spec.dtype, Dtype::f32);
  EXPECT_TRUE(spec.tied_embeddings);
  EXPECT_EQ(spec.eos, (std::vector<int64_t>{248044, 248046}));
  EXPECT_EQ(spec.model_type, "qwen3_5");
  Json quantised = config;
  quantised["quantization_config"] = {{"quant_method", "fp8"}};
  EXPECT_TRUE(
      names(refusal_of([&] { return read(quantised); }), "config.json", "quantization_config"));
}

// The configs of the checkpoints under tests/goldens.
TEST(published_configs, goldens_parse) {
  const ModelSpec qwen = read(golden_config("qwen3_tiny"));
  EXPECT_EQ(architecture_of(qwen), "transformer");
  EXPECT_EQ(softmax_of(qwen).head_width, 16);
  EXPECT_EQ(softmax_of(qwen).rope->theta, 1e6);  // from rope_parameters

  const ModelSpec llama = read(golden_config("llama3_tiny"));
  EXPECT_EQ(architecture_of(llama), "transformer");
  EXPECT_TRUE(llama.tied_embeddings);
  EXPECT_EQ(softmax_of(llama).rope->theta, 5e5);
  EXPECT_EQ(softmax_of(llama).rope->scaling, RopeScaling::llama3);
  EXPECT_EQ(softmax_of(llama).rope->original_max_position, 64);
  EXPECT_EQ(llama.eos, std::vector<int64_t>{2});

  const ModelSpec mistral = read(golden_config("mistral_swa4_tiny"));
  EXPECT_EQ(architecture_of(mistral), "swa");
  EXPECT_EQ(windows_of(mistral), std::vector<int64_t>(3, 4));

  const ModelSpec orthros = read(golden_config("orthros_tiny"));
  EXPECT_EQ(architecture_of(orthros), "orthros");
  EXPECT_EQ(orthros.streams, Streams::dual);
  EXPECT_EQ(windows_of(orthros), std::vector<int64_t>(3, 4));
  EXPECT_EQ(softmax_of(orthros).scale_offset, ScaleOffset::after_qk_norm);
  EXPECT_TRUE(softmax_of(orthros).qk_norm);

  const ModelSpec hybrid = read(golden_config("qwen3_5_text_tiny"));
  EXPECT_EQ(architecture_of(hybrid), "linear-hybrid");
  EXPECT_FALSE(is_linear(hybrid, 3));
  EXPECT_EQ(softmax_of(hybrid, 3).rope->width, 4);
  EXPECT_EQ(linear_of(hybrid).value_heads, 4);
}

}  // namespace
}  // namespace orthros
