// What makes a ModelSpec invalid, hostile numbers among it.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "reference/spec/architecture.hpp"
#include "reference/spec/tensor_table.hpp"
#include "tests/reference/spec/configs.hpp"
#include "tests/reference/spec/refusal.hpp"

namespace orthros {
namespace {

using Change = std::function<void(ModelSpec&)>;

std::string refused(ModelSpec spec, const Change& change) {
  change(spec);
  return refusal_of([&] {
    validate(spec);
    return 0;
  });
}

SoftmaxAttention& softmax(ModelSpec& spec, size_t layer = 0) {
  return std::get<SoftmaxAttention>(spec.layers.at(layer).mixer);
}

LinearMixer& linear(ModelSpec& spec, size_t layer = 0) {
  return std::get<LinearMixer>(spec.layers.at(layer).mixer);
}

ModelSpec as(const char* name) {
  return to_architecture(read(llama_config()),
                         {.name = name, .window = {}, .scale_offset = {}, .linear = {}});
}

constexpr int64_t hostile[] = {0,
                               -1,
                               std::numeric_limits<int64_t>::min(),
                               (int64_t{1} << 31) + 1,
                               int64_t{1} << 62,
                               std::numeric_limits<int64_t>::max()};

TEST(validate, hostile_sizes_are_refused_by_field) {
  const ModelSpec transformer = as("transformer");
  for (int64_t bad : hostile) {
    const std::pair<const char*, Change> fields[] = {
        {"vocab_size", [&](ModelSpec& s) { s.vocab = bad; }},
        {"hidden_size", [&](ModelSpec& s) { s.hidden = bad; }},
        {"layers[4].intermediate_size", [&](ModelSpec& s) { s.layers[4].ffn.width = bad; }},
        {"layers[1].num_attention_heads", [&](ModelSpec& s) { softmax(s, 1).query_heads = bad; }},
        {"layers[1].num_key_value_heads", [&](ModelSpec& s) { softmax(s, 1).kv_heads = bad; }},
        {"layers[1].head_dim", [&](ModelSpec& s) { softmax(s, 1).head_width = bad; }},
        {"layers[0].sliding_window", [&](ModelSpec& s) { softmax(s).window = bad; }}};
    for (const auto& [field, change] : fields) {
      EXPECT_TRUE(names(refused(transformer, change), "config.json", field, std::to_string(bad)));
    }
    const std::pair<const char*, Change> linear_fields[] = {
        {"layers[0].linear_num_key_heads", [&](ModelSpec& s) { linear(s).key_heads = bad; }},
        {"layers[0].linear_num_value_heads", [&](ModelSpec& s) { linear(s).value_heads = bad; }},
        {"layers[0].linear_key_head_dim", [&](ModelSpec& s) { linear(s).key_width = bad; }},
        {"layers[0].linear_value_head_dim", [&](ModelSpec& s) { linear(s).value_width = bad; }},
        {"layers[0].linear_conv_kernel_dim", [&](ModelSpec& s) { linear(s).conv_width = bad; }}};
    for (const auto& [field, change] : linear_fields) {
      EXPECT_TRUE(names(refused(as("gdn"), change), "config.json", field, std::to_string(bad)));
    }
    EXPECT_TRUE(names(refused(as("gla"), [&](ModelSpec& s) { linear(s).gate_rank = bad; }),
                      "config.json", "layers[0].gate_rank"));
  }
}

TEST(validate, sizes_that_are_fine_alone_and_too_much_together_are_refused) {
  constexpr int64_t most = max_size;
  const std::string heads = refused(as("transformer"), [](ModelSpec& s) {
    softmax(s) = {
        .query_heads = most, .kv_heads = most, .head_width = most, .window = {}, .rope = {}};
  });
  EXPECT_TRUE(names(heads, "config.json", "layers[0].num_attention_heads x head_dim"));
  const std::string total = refused(as("transformer"), [](ModelSpec& s) {
    s.vocab = most;
    s.hidden = most;
    for (Layer& layer : s.layers) layer.ffn.width = most;
  });
  EXPECT_TRUE(names(total, "config.json", "parameters"));
  EXPECT_TRUE(names(refused(as("gdn"),
                            [](ModelSpec& s) {
                              s.hidden = most;
                              for (size_t i = 0; i < s.layers.size(); ++i) {
                                linear(s, i) = {.key_heads = 1,
                                                .value_heads = 1,
                                                .key_width = most,
                                                .value_width = most,
                                                .conv_width = most,
                                                .rope = {}};
                              }
                            }),
                    "config.json", "parameters"));
  // Almost as large a model passes, with its count of bytes within 64 bits.
  ModelSpec large = as("transformer");
  large.vocab = int64_t{1} << 29;
  large.hidden = int64_t{1} << 28;
  validate(large);
  EXPECT_GT(parameter_count(large), max_parameters / 2);
  EXPECT_LE(parameter_count(large), max_parameters);
}

TEST(validate, layer_counts_are_bounded) {
  EXPECT_TRUE(names(refused(as("transformer"), [](ModelSpec& s) { s.layers.clear(); }),
                    "config.json", "num_hidden_layers"));
  EXPECT_TRUE(names(refused(as("transformer"),
                            [](ModelSpec& s) { s.layers.resize(max_layers + 1, s.layers[0]); }),
                    "config.json", "num_hidden_layers"));
  ModelSpec deep = as("transformer");
  deep.layers.resize(max_layers, deep.layers[0]);
  validate(deep);
}

TEST(validate, numbers_that_are_none_are_refused) {
  for (double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL, -1.0}) {
    EXPECT_TRUE(names(refused(as("transformer"), [&](ModelSpec& s) { s.norm_eps = bad; }),
                      "config.json", "rms_norm_eps"));
    EXPECT_TRUE(
        names(refused(as("transformer"), [&](ModelSpec& s) { softmax(s).rope->theta = bad; }),
              "config.json", "layers[0].rope.rope_theta"));
    for (RopeScaling kind : {RopeScaling::linear, RopeScaling::llama3, RopeScaling::yarn}) {
      EXPECT_TRUE(names(refused(as("transformer"),
                                [&](ModelSpec& s) {
                                  softmax(s).rope->scaling = kind;
                                  softmax(s).rope->factor = bad;
                                }),
                        "config.json", "layers[0].rope.factor"));
    }
    const auto scaled = [&](RopeScaling kind, double Rope::*field) {
      return refused(as("transformer"), [&](ModelSpec& s) {
        softmax(s).rope->scaling = kind;
        softmax(s).rope->original_max_position = 64;
        (*softmax(s).rope).*field = bad;
      });
    };
    const std::string at = "layers[0].rope.";
    EXPECT_TRUE(names(scaled(RopeScaling::llama3, &Rope::low_freq_factor), "config.json",
                      at + "high_freq_factor"));
    EXPECT_TRUE(names(scaled(RopeScaling::llama3, &Rope::high_freq_factor), "config.json",
                      at + "high_freq_factor"));
    EXPECT_TRUE(
        names(scaled(RopeScaling::yarn, &Rope::beta_fast), "config.json", at + "beta_fast"));
    EXPECT_TRUE(
        names(scaled(RopeScaling::yarn, &Rope::beta_slow), "config.json", at + "beta_fast"));
    EXPECT_TRUE(names(scaled(RopeScaling::yarn, &Rope::attention_factor), "config.json",
                      at + "attention_factor"));
  }
}

TEST(validate, rotated_channels_are_pairs_within_the_head) {
  for (int64_t bad : {int64_t{0}, int64_t{-2}, int64_t{3}, int64_t{10}, int64_t{1} << 62}) {
    EXPECT_TRUE(
        names(refused(as("transformer"), [&](ModelSpec& s) { softmax(s).rope->width = bad; }),
              "config.json", "layers[0].rope"))
        << bad;
    EXPECT_TRUE(names(refused(as("retnet"), [&](ModelSpec& s) { linear(s).rope->width = bad; }),
                      "config.json", "layers[0].rope"))
        << bad;
  }
}

TEST(validate, heads_divide) {
  EXPECT_TRUE(names(refused(as("transformer"), [](ModelSpec& s) { softmax(s).kv_heads = 3; }),
                    "config.json", "layers[0].num_key_value_heads", "divisor of the 8"));
  EXPECT_TRUE(names(refused(as("gdn"), [](ModelSpec& s) { linear(s).key_heads = 3; }),
                    "config.json", "layers[0].linear_num_value_heads", "multiple of the 3"));
}

TEST(validate, eos_ids_are_within_the_vocabulary) {
  for (int64_t bad : {int64_t{-1}, int64_t{100}, std::numeric_limits<int64_t>::max()}) {
    EXPECT_TRUE(names(refused(as("transformer"),
                              [&](ModelSpec& s) {
                                s.eos = {2, bad};
                              }),
                      "config.json", "eos_token_id"));
  }
}

TEST(validate, streams_scale_offset_and_mixers_agree) {
  EXPECT_TRUE(names(refused(as("orthros"), [](ModelSpec& s) { s.streams = Streams::single; }),
                    "config.json", "layers[0].scale_offset"));
  for (const char* name : {"retnet", "gla"}) {
    EXPECT_TRUE(names(refused(as(name), [](ModelSpec& s) { s.streams = Streams::dual; }),
                      "config.json", "layers[0].mixer"));
  }
  EXPECT_TRUE(names(refused(as("yoco"), [](ModelSpec& s) { s.streams = Streams::dual; }),
                    "config.json", "streams"));
}

TEST(validate, shared_kv_layers_are_an_even_tail) {
  const auto tail = [](const Change& change) { return refused(as("yoco"), change); };
  EXPECT_TRUE(names(tail([](ModelSpec& s) { softmax(s, 4).kv = KvSource::own; }), "config.json",
                    "layers[4]"));
  EXPECT_TRUE(
      names(tail([](ModelSpec& s) { softmax(s, 3).kv_heads = 4; }), "config.json", "layers[3]"));
  EXPECT_TRUE(
      names(tail([](ModelSpec& s) { softmax(s, 3).window = 4; }), "config.json", "layers[3]"));
  EXPECT_TRUE(names(tail([](ModelSpec& s) { softmax(s, 4).rope->theta = 2e4; }), "config.json",
                    "layers[4]"));
  EXPECT_TRUE(names(tail([](ModelSpec& s) { softmax(s, 0).kv = KvSource::shared; }), "config.json",
                    "layers"));
}

TEST(validate, an_error_names_the_file_or_else_the_model) {
  ModelSpec spec = as("transformer");
  spec.vocab = 0;
  const auto line = [&] {
    return refusal_of([&] {
      validate(spec);
      return 0;
    });
  };
  EXPECT_TRUE(names(line(), "config.json", "vocab_size"));
  spec.source.clear();
  spec.name = "tiny";
  EXPECT_TRUE(names(line(), "tiny", "vocab_size"));
  spec.name.clear();
  EXPECT_TRUE(names(line(), "model", "vocab_size"));
}

}  // namespace
}  // namespace orthros
