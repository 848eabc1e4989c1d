// Every field of a config: what it means where absent, and how a wrong one is refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "reference/spec/architecture.hpp"
#include "tests/reference/spec/configs.hpp"
#include "tests/reference/spec/refusal.hpp"

namespace orthros {
namespace {

std::string refused(const char* model_type, const Json& changes) {
  return refusal_of([&] { return read(with(config_of(model_type), changes)); });
}

std::string refused_without(const char* model_type, const char* field) {
  return refusal_of([&] { return read(without(config_of(model_type), field)); });
}

const char* const all_types[] = {"llama", "mistral", "qwen3", "qwen3_5_text", "orthros"};

TEST(config_fields, an_unknown_model_type_lists_the_known) {
  for (const char* type : {"gpt2", "qwen3_moe", "qwen2", "mistral3", "Llama", "", "llama "}) {
    const std::string line = refused("llama", {{"model_type", type}});
    EXPECT_TRUE(names(line, "config.json", "model_type", type));
    for (const char* known : {"llama", "mistral", "orthros", "qwen3", "qwen3_5", "qwen3_5_text"}) {
      EXPECT_NE(line.find(known), std::string::npos) << line;
    }
  }
  EXPECT_TRUE(names(refused_without("llama", "model_type"), "config.json", "model_type"));
  EXPECT_TRUE(names(refused("llama", {{"model_type", 3}}), "config.json", "model_type"));
  EXPECT_TRUE(names(refused("llama", {{"model_type", nullptr}}), "config.json", "model_type"));
}

TEST(config_fields, what_is_no_object_is_refused) {
  for (const char* text : {"null", "[]", "3", "\"llama\"", "true"}) {
    EXPECT_EQ(refusal_of([&] { return read(Json::parse(text)); }).rfind("config.json: expected", 0),
              0u)
        << text;
  }
}

TEST(config_fields, unsupported_features_are_refused_by_name) {
  for (const char* type : all_types) {
    EXPECT_TRUE(names(refused(type, {{"attention_bias", true}}), "config.json", "attention_bias"));
    EXPECT_TRUE(names(refused(type, {{"mlp_bias", true}}), "config.json", "mlp_bias"));
    EXPECT_TRUE(names(refused(type, {{"num_experts", 8}}), "config.json", "num_experts"));
    EXPECT_TRUE(
        names(refused(type, {{"num_local_experts", 8}}), "config.json", "num_local_experts"));
    EXPECT_TRUE(names(refused(type, {{"n_routed_experts", 1}}), "config.json", "n_routed_experts"));
    EXPECT_TRUE(names(refused(type, {{"quantization_config", {{"bits", 4}}}}), "config.json",
                      "quantization_config"));
    for (const char* act : {"gelu", "gelu_pytorch_tanh", "relu", "SiLU", "swish"}) {
      EXPECT_TRUE(names(refused(type, {{"hidden_act", act}}), "config.json", "hidden_act", act));
    }
  }
  EXPECT_TRUE(names(refused("qwen3_5_text", {{"attn_output_gate", false}}), "config.json",
                    "attn_output_gate"));
  EXPECT_TRUE(names(
      refused("qwen3",
              {{"layer_types", Json::array({"full_attention", "linear_attention", "full_attention",
                                            "full_attention", "full_attention"})}}),
      "config.json", "layer_types", "qwen3_5"));
  EXPECT_TRUE(
      names(refused("llama", {{"text_config", llama_config()}}), "config.json", "text_config"));
}

TEST(config_fields, the_same_features_turned_off_are_no_obstacle) {
  const Json off = {{"attention_bias", false},        {"mlp_bias", nullptr},   {"num_experts", 0},
                    {"quantization_config", nullptr}, {"hidden_act", nullptr}, {"use_cache", true},
                    {"attention_dropout", 0.0},       {"pretraining_tp", 1}};
  for (const char* type : all_types) {
    EXPECT_TRUE(same_model(read(with(config_of(type), off)), read(config_of(type)))) << type;
  }
}

TEST(config_fields, what_has_no_default_is_required) {
  for (const char* type : all_types) {
    for (const char* field : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
                              "num_attention_heads", "rms_norm_eps", "rope_theta"}) {
      EXPECT_TRUE(names(refused_without(type, field), "config.json", field)) << type;
      EXPECT_TRUE(names(refused(type, {{field, nullptr}}), "config.json", field)) << type;
    }
  }
  for (const char* field : {"linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim",
                            "linear_value_head_dim", "linear_conv_kernel_dim"}) {
    EXPECT_TRUE(names(refused_without("qwen3_5_text", field), "config.json", field));
  }
}

TEST(config_fields, a_wrong_type_is_refused_with_the_field_and_what_was_found) {
  const char* const numbers[] = {
      "vocab_size",          "hidden_size", "intermediate_size",   "num_hidden_layers",
      "num_attention_heads", "head_dim",    "num_key_value_heads", "max_position_embeddings"};
  for (const char* type : all_types) {
    for (const char* field : numbers) {
      for (const char* bad : {"\"4096\"", "4096.5", "64.0", "true", "[64]", "{\"a\": 1}",
                              "18446744073709551615", "9223372036854775808", "1e3", "\"\""}) {
        EXPECT_TRUE(names(refused(type, {{field, Json::parse(bad)}}), "config.json", field))
            << type << ' ' << bad;
      }
    }
    for (const char* field : {"rms_norm_eps", "rope_theta"}) {
      for (const char* bad : {"\"1e-6\"", "true", "[1]", "{}"}) {
        EXPECT_TRUE(names(refused(type, {{field, Json::parse(bad)}}), "config.json", field)) << bad;
      }
    }
    for (const char* field : {"tie_word_embeddings", "attention_bias", "mlp_bias"}) {
      for (const char* bad : {"0", "1", "\"false\"", "[]"}) {
        EXPECT_TRUE(names(refused(type, {{field, Json::parse(bad)}}), "config.json", field)) << bad;
      }
    }
    EXPECT_TRUE(names(refused(type, {{"hidden_act", 1}}), "config.json", "hidden_act"));
    EXPECT_TRUE(names(refused(type, {{"name", 1}}), "config.json", "name"));
    EXPECT_TRUE(names(refused(type, {{"hf_names", "a/b"}}), "config.json", "hf_names"));
    EXPECT_TRUE(names(refused(type, {{"hf_names", Json::array({1})}}), "config.json", "hf_names"));
  }
  EXPECT_TRUE(names(refused("qwen3", {{"use_sliding_window", "yes"}}), "config.json",
                    "use_sliding_window"));
  EXPECT_TRUE(names(refused("orthros", {{"scale_offset", "yes"}}), "config.json", "scale_offset"));
  EXPECT_TRUE(names(refused("orthros", {{"qk_norm", 1}}), "config.json", "qk_norm"));
}

TEST(config_fields, a_number_out_of_range_is_refused) {
  const int64_t past = (int64_t{1} << 31) + 1;
  for (int64_t bad : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min(), past,
                      int64_t{1} << 62, std::numeric_limits<int64_t>::max()}) {
    for (const char* type : all_types) {
      for (const char* field :
           {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
            "num_attention_heads", "head_dim", "num_key_value_heads"}) {
        const std::string line = refused(type, {{field, bad}});
        EXPECT_EQ(line.rfind("config.json: ", 0), 0u) << line;
        EXPECT_NE(line.find(": expected "), std::string::npos) << line;
      }
    }
    for (const char* field :
         {"linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim",
          "linear_value_head_dim", "linear_conv_kernel_dim"}) {
      EXPECT_NE(refused("qwen3_5_text", {{field, bad}}).find(field), std::string::npos) << bad;
    }
  }
  EXPECT_TRUE(names(refused("llama", {{"num_hidden_layers", 1'000'000}}), "config.json",
                    "num_hidden_layers"));
  EXPECT_TRUE(names(refused("llama", {{"rms_norm_eps", -1e-6}}), "config.json", "rms_norm_eps"));
  EXPECT_TRUE(names(refused("llama", {{"max_position_embeddings", 0}}), "config.json",
                    "max_position_embeddings"));
  EXPECT_TRUE(names(refused("llama", {{"max_position_embeddings", -5}}), "config.json",
                    "max_position_embeddings"));
  EXPECT_TRUE(names(refused("qwen3_5_text", {{"full_attention_interval", 0}}), "config.json",
                    "full_attention_interval"));
  EXPECT_TRUE(names(refused("qwen3_5_text", {{"full_attention_interval", -4}}), "config.json",
                    "full_attention_interval"));
}

TEST(config_fields, layer_types_must_be_one_known_name_a_layer) {
  for (const char* type : {"llama", "mistral", "qwen3", "qwen3_5_text"}) {
    for (const char* bad : {"[]", "[\"full_attention\"]", "\"full_attention\"", "3", "{}",
                            "[1,2,3,4,5]", "[null,null,null,null,null]", "[[],[],[],[],[]]",
                            "[\"full_attention\",\"full_attention\",\"full_attention\","
                            "\"full_attention\",\"chunked_attention\"]"}) {
      EXPECT_TRUE(
          names(refused(type, {{"layer_types", Json::parse(bad)}}), "config.json", "layer_types"))
          << bad;
    }
  }
}

TEST(config_fields, query_heads_must_be_a_multiple_of_kv_heads) {
  for (const auto& [heads, kv] : {std::pair{32, 4}, {32, 8}, {28, 4}, {12, 2}, {24, 1}, {1, 1}}) {
    const ModelSpec spec =
        read(with(llama_config(),
                  {{"num_attention_heads", heads}, {"num_key_value_heads", kv}, {"head_dim", 16}}));
    EXPECT_EQ(softmax_of(spec).query_heads, heads);
    EXPECT_EQ(softmax_of(spec).kv_heads, kv);
  }
  for (const auto& [heads, kv] : {std::pair{33, 2}, {3, 2}, {2, 4}, {8, 3}}) {
    for (const char* type : all_types) {
      const std::string line = refused(type, {{"num_attention_heads", heads},
                                              {"num_key_value_heads", kv},
                                              {"head_dim", 16},
                                              {"num_hidden_layers", 4},
                                              {"full_attention_interval", 1}});
      EXPECT_TRUE(names(line, "config.json", "layers[0].num_key_value_heads",
                        fmt::format("divisor of the {} query heads, got {}", heads, kv)));
    }
  }
}

TEST(config_fields, absent_kv_heads_are_query_heads_and_absent_head_dim_is_their_share) {
  const Json sixteen = with(llama_config(), {{"num_attention_heads", 16}});
  for (const Json& config : {without(sixteen, "num_key_value_heads"),
                             with(sixteen, {{"num_key_value_heads", nullptr}})}) {
    EXPECT_EQ(softmax_of(read(config)).kv_heads, 16);
  }
  EXPECT_EQ(softmax_of(read(llama_config())).head_width, 8);
  EXPECT_EQ(softmax_of(read(with(llama_config(), {{"head_dim", nullptr}}))).head_width, 8);
  EXPECT_EQ(softmax_of(read(with(llama_config(), {{"head_dim", 32}}))).head_width, 32);
  EXPECT_TRUE(names(refused("llama", {{"hidden_size", 65}}), "config.json", "head_dim", "65"));
  EXPECT_TRUE(names(refused("llama", {{"head_dim", 7}}), "config.json", "layers[0].rope"));
}

TEST(config_fields, dtype_under_either_name) {
  const std::pair<const char*, Dtype> known[] = {{"bfloat16", Dtype::bf16},
                                                 {"float16", Dtype::f16},
                                                 {"float32", Dtype::f32},
                                                 {"float64", Dtype::f64}};
  const Json bare = without(llama_config(), "torch_dtype");
  for (const auto& [name, dtype] : known) {
    EXPECT_EQ(read(with(bare, {{"dtype", name}})).dtype, dtype);
    EXPECT_EQ(read(with(bare, {{"torch_dtype", name}})).dtype, dtype);
    EXPECT_EQ(read(with(bare, {{"torch_dtype", name}, {"dtype", nullptr}})).dtype, dtype);
  }
  EXPECT_EQ(read(bare).dtype, Dtype::bf16);
  EXPECT_TRUE(names(refused("llama", {{"dtype", "float8_e4m3fn"}}), "config.json", "dtype"));
  EXPECT_TRUE(names(refused("llama", {{"torch_dtype", "int8"}}), "config.json", "torch_dtype"));
  EXPECT_TRUE(names(refused("llama", {{"torch_dtype", 16}}), "config.json", "torch_dtype"));
}

TEST(config_fields, eos_is_an_id_a_list_or_nothing) {
  const auto eos = [](const Json& value) {
    return read(with(llama_config(), {{"eos_token_id", value}})).eos;
  };
  using Ids = std::vector<int64_t>;
  EXPECT_EQ(eos(nullptr), Ids{});
  EXPECT_EQ(read(llama_config()).eos, Ids{});
  EXPECT_EQ(eos(0), Ids{0});
  EXPECT_EQ(eos(99), Ids{99});
  EXPECT_EQ(eos(Json::array()), Ids{});
  EXPECT_EQ(eos(Json{7, 3, 7}), (Ids{3, 7}));
  for (const char* bad : {"100", "-1", "\"2\"", "2.0", "true", "[\"2\"]", "[null]", "[[2]]", "[-1]",
                          "[100]", "{}", "[18446744073709551615]", "18446744073709551615"}) {
    EXPECT_TRUE(names(refused("llama", {{"eos_token_id", Json::parse(bad)}}), "config.json",
                      "eos_token_id"))
        << bad;
  }
}

TEST(config_fields, orthros_scale_offset_and_qk_norm) {
  const auto mixer = [](const Json& changes) {
    return softmax_of(read(with(config_of("orthros"), changes)));
  };
  EXPECT_EQ(mixer({{"scale_offset", true}}).scale_offset, ScaleOffset::after_qk_norm);
  EXPECT_EQ(mixer({{"scale_offset", false}}).scale_offset, ScaleOffset::none);
  EXPECT_EQ(
      mixer({{"scale_offset", true}, {"scale_offset_placement", "before_qk_norm"}}).scale_offset,
      ScaleOffset::before_qk_norm);
  EXPECT_TRUE(mixer({}).qk_norm);
  EXPECT_FALSE(mixer({{"qk_norm", false}}).qk_norm);
  EXPECT_TRUE(names(refused("orthros", {{"scale_offset_placement", "after"}}), "config.json",
                    "scale_offset_placement", "before_qk_norm"));
}

TEST(config_fields, a_nested_field_is_named_with_its_path) {
  Json config = {{"model_type", "qwen3_5"}, {"text_config", config_of("qwen3_5_text")}};
  EXPECT_TRUE(same_model(read(config), read(config_of("qwen3_5_text"))));
  config["text_config"]["vocab_size"] = "many";
  EXPECT_TRUE(
      names(refusal_of([&] { return read(config); }), "config.json", "text_config.vocab_size"));
  config["text_config"] = config_of("llama");
  EXPECT_TRUE(names(refusal_of([&] { return read(config); }), "config.json",
                    "text_config.model_type", "qwen3_5_text"));
  config["text_config"] = Json::array();
  EXPECT_TRUE(names(refusal_of([&] { return read(config); }), "config.json", "text_config"));
}

TEST(config_fields, a_hostile_name_stays_one_short_line) {
  refused("llama", {{"model_type", std::string(1'000'000, 'x')}});
  refused("llama", {{"model_type", "a\nb\r\n\x1b[31m"}});
  refused("llama", {{"hidden_act", std::string(1'000'000, '\n')}});
  refused("llama", {{"hidden_size", std::string(1'000'000, '"')}});
  Json deep;
  for (int i = 0; i < 60; ++i) deep = Json::array({deep});
  refused("llama", {{"hidden_size", deep}});
  refused("llama", {{"hidden_size", Json(std::vector<int>(100'000, 1))}});
}

}  // namespace
}  // namespace orthros
