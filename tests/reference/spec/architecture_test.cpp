// The paper's systems as transforms: sizes, windows, names, and what is refused.
#include "reference/spec/architecture.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/reference/spec/configs.hpp"
#include "tests/reference/spec/refusal.hpp"

namespace orthros {
namespace {

ModelSpec to(const ModelSpec& spec, const char* name, std::optional<int64_t> window = {}) {
  return to_architecture(spec, {.name = name, .window = window, .scale_offset = {}, .linear = {}});
}

ModelSpec small() {  // 5 layers, hidden 64, 8 heads of 8 over 2 KV heads
  return read(llama_config());
}

ModelSpec of_heads(int64_t query, int64_t kv, int64_t width, int64_t hidden, int64_t layers = 5) {
  return read(with(llama_config(), {{"num_attention_heads", query},
                                    {"num_key_value_heads", kv},
                                    {"head_dim", width},
                                    {"hidden_size", hidden},
                                    {"num_hidden_layers", layers}}));
}

ModelSpec mistral(int64_t window) {
  return read(with(config_of("mistral"), {{"sliding_window", window}}));
}

TEST(architecture, names_are_those_of_the_command_line) {
  for (const char* name : {"transformer", "swa", "orthros", "orthros-noso", "retnet", "gla", "gdn",
                           "yoco", "linear-hybrid", "orthros-h"}) {
    const auto& names = architecture_names();
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
  for (const char* bad : {"", "Transformer", "mamba", "orthros ", "mixed", "orthros_h"}) {
    const std::string line = refusal_of([&] { return to(small(), bad); });
    EXPECT_EQ(line.rfind("architecture: expected one of transformer, swa, orthros", 0), 0u) << line;
  }
}

TEST(architecture, swa_is_512_wide_and_every_other_window_128) {
  EXPECT_EQ(windows_of(to(small(), "swa")), std::vector<int64_t>(5, 512));
  EXPECT_EQ(windows_of(to(small(), "orthros")), std::vector<int64_t>(5, 128));
  EXPECT_EQ(windows_of(to(small(), "orthros-noso")), std::vector<int64_t>(5, 128));
  EXPECT_EQ(windows_of(to(small(), "yoco")), (std::vector<int64_t>{128, 128, 0, 0, 0}));
  EXPECT_EQ(window_of(to(small(), "orthros-h")), 128);
  EXPECT_EQ(window_of(to(small(), "transformer")), std::nullopt);
  EXPECT_EQ(window_of(to(small(), "linear-hybrid")), std::nullopt);
}

TEST(architecture, a_configs_window_beats_the_default_and_a_given_one_beats_both) {
  for (const char* name : {"swa", "orthros", "orthros-noso", "yoco", "orthros-h"}) {
    EXPECT_EQ(window_of(to(mistral(4), name)), 4) << name;
    EXPECT_EQ(window_of(to(mistral(4), name, 9)), 9) << name;
    EXPECT_EQ(window_of(to(small(), name, 9)), 9) << name;
  }
  EXPECT_EQ(window_of(to(mistral(4), "transformer")), std::nullopt);
  EXPECT_EQ(window_of(to(mistral(4), "transformer", 9)), std::nullopt);
}

TEST(architecture, impossible_windows_are_refused) {
  for (int64_t bad : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min(),
                      (int64_t{1} << 31) + 1, std::numeric_limits<int64_t>::max()}) {
    for (const char* name : {"swa", "orthros", "orthros-noso", "yoco"}) {
      EXPECT_TRUE(names(refusal_of([&] { return to(small(), name, bad); }), "config.json",
                        "layers[0].sliding_window"));
    }
  }
}

TEST(architecture, phase_aware_of_a_transformer_is_orthros_and_of_a_hybrid_orthros_h) {
  const ModelSpec transformer = small();
  EXPECT_EQ(architecture_of(phase_aware(transformer, 128, ScaleOffset::after_qk_norm)), "orthros");
  EXPECT_EQ(architecture_of(phase_aware(transformer, 128, ScaleOffset::none)), "orthros-noso");
  EXPECT_TRUE(same_model(phase_aware(transformer, 128, ScaleOffset::after_qk_norm),
                         to(transformer, "orthros")));
  const ModelSpec hybrid = linear_hybrid(transformer);
  EXPECT_EQ(architecture_of(phase_aware(hybrid, 128, ScaleOffset::after_qk_norm)), "orthros-h");
  EXPECT_TRUE(
      same_model(phase_aware(hybrid, 128, ScaleOffset::after_qk_norm), to(hybrid, "orthros-h")));
  // A Qwen3.5 keeps its own hybrid pattern and its gates.
  const ModelSpec qwen = phase_aware(read(config_of("qwen3_5_text")), 4, ScaleOffset::none);
  EXPECT_EQ(architecture_of(qwen), "orthros-h");
  EXPECT_TRUE(softmax_of(qwen, 3).gated);
  EXPECT_EQ(softmax_of(qwen, 3).window, 4);
  EXPECT_EQ(linear_of(qwen, 0), linear_of(read(config_of("qwen3_5_text")), 0));
}

TEST(architecture, orthros_is_the_transformer_with_two_streams_windows_and_scale_offset) {
  const ModelSpec spec = to(small(), "orthros");
  EXPECT_EQ(spec.streams, Streams::dual);
  for (size_t i = 0; i < 5; ++i) {
    SoftmaxAttention mixer = softmax_of(spec, i);
    EXPECT_EQ(mixer.scale_offset, ScaleOffset::after_qk_norm);
    mixer.window.reset();
    mixer.scale_offset = ScaleOffset::none;
    EXPECT_EQ(mixer, softmax_of(small(), i));
  }
  const ModelSpec before = to_architecture(
      small(),
      {.name = "orthros", .window = {}, .scale_offset = ScaleOffset::before_qk_norm, .linear = {}});
  EXPECT_EQ(softmax_of(before).scale_offset, ScaleOffset::before_qk_norm);
  // What a source says of scale-offset stays, unless it says none.
  EXPECT_EQ(softmax_of(to(before, "orthros", 7)).scale_offset, ScaleOffset::before_qk_norm);
  EXPECT_EQ(softmax_of(to(to(small(), "orthros-noso"), "orthros")).scale_offset,
            ScaleOffset::after_qk_norm);
}

TEST(architecture, linear_hybrid_keeps_every_fourth_layers_attention) {
  const ModelSpec source = of_heads(8, 2, 8, 64, 9);
  const ModelSpec spec = to(source, "linear-hybrid");
  for (size_t i = 0; i < 9; ++i) {
    ASSERT_EQ(is_linear(spec, i), (i + 1) % 4 != 0) << i;
    if (is_linear(spec, i)) continue;
    EXPECT_EQ(softmax_of(spec, i), softmax_of(source, i));
  }
  // The source's window and scale-offset belong to attention that ran at every layer.
  EXPECT_EQ(softmax_of(to(mistral(4), "linear-hybrid"), 3).window, std::nullopt);
}

TEST(architecture, gdn_sizes_follow_the_attention) {
  const LinearMixer even = linear_of(to(of_heads(32, 8, 128, 4096), "gdn"));
  EXPECT_EQ(even.kind, Recurrence::gated_delta);
  EXPECT_EQ(even.value_heads, 32);
  EXPECT_EQ(even.key_heads, 16);
  EXPECT_EQ(even.key_width, 128);
  EXPECT_EQ(even.value_width, 128);
  EXPECT_EQ(even.conv_width, 4);
  EXPECT_FALSE(even.rope);
  const LinearMixer odd = linear_of(to(of_heads(25, 5, 64, 100), "gdn"));
  EXPECT_EQ(odd.value_heads, 25);
  EXPECT_EQ(odd.key_heads, 25);
  EXPECT_EQ(odd.key_width, 64);
  const LinearMixer one = linear_of(to(of_heads(1, 1, 64, 100), "gdn"));
  EXPECT_EQ(one.key_heads, 1);
}

TEST(architecture, gla_has_four_heads_of_an_eighth_and_a_quarter) {
  const LinearMixer mixer = linear_of(to(of_heads(32, 32, 64, 2048), "gla"));
  EXPECT_EQ(mixer.kind, Recurrence::gated_linear);
  EXPECT_EQ(mixer.key_heads, 4);
  EXPECT_EQ(mixer.value_heads, 4);
  EXPECT_EQ(mixer.key_width, 256);
  EXPECT_EQ(mixer.value_width, 512);
  EXPECT_EQ(mixer.gate_rank, 16);
  EXPECT_EQ(mixer.conv_width, 0);
  EXPECT_FALSE(mixer.rope);
}

TEST(architecture, retnet_has_the_query_heads_and_values_twice_as_wide) {
  const LinearMixer mixer = linear_of(to(of_heads(8, 2, 128, 2048), "retnet"));
  EXPECT_EQ(mixer.kind, Recurrence::retention);
  EXPECT_EQ(mixer.key_heads, 8);
  EXPECT_EQ(mixer.value_heads, 8);
  EXPECT_EQ(mixer.key_width, 256);
  EXPECT_EQ(mixer.value_width, 512);
  ASSERT_TRUE(mixer.rope);
  EXPECT_EQ(mixer.rope->theta, 1e4);  // whatever the source's was
  EXPECT_EQ(mixer.rope->width, 256);
  EXPECT_EQ(mixer.rope->scaling, RopeScaling::none);
  EXPECT_EQ(linear_of(to(read(golden_config("llama3_tiny")), "retnet")).rope->theta, 1e4);
}

TEST(architecture, given_sizes_are_taken) {
  const LinearSizes sizes = {.key_heads = 2,
                             .value_heads = 6,
                             .key_width = 10,
                             .value_width = 12,
                             .conv_width = 3,
                             .gate_rank = 5};
  for (const char* name :
       {"retnet", "gla", "gdn", "yoco-retention", "linear-hybrid", "orthros-h"}) {
    const LinearMixer mixer = linear_of(to_architecture(
        small(), {.name = name, .window = {}, .scale_offset = {}, .linear = sizes}));
    EXPECT_EQ(mixer.key_heads, 2) << name;
    EXPECT_EQ(mixer.value_heads, 6) << name;
    EXPECT_EQ(mixer.key_width, 10) << name;
    EXPECT_EQ(mixer.value_width, 12) << name;
  }
}

TEST(architecture, impossible_linear_sizes_are_refused) {
  const auto refused = [](const char* name, const LinearSizes& sizes) {
    return refusal_of([&] {
      return to_architecture(small(),
                             {.name = name, .window = {}, .scale_offset = {}, .linear = sizes});
    });
  };
  constexpr int64_t huge = std::numeric_limits<int64_t>::max();
  for (int64_t bad : {int64_t{0}, int64_t{-3}, std::numeric_limits<int64_t>::min(),
                      (int64_t{1} << 31) + 1, int64_t{1} << 62, huge}) {
    for (const char* name : {"retnet", "gla", "gdn", "yoco-retention", "linear-hybrid"}) {
      for (auto field : {&LinearSizes::key_heads, &LinearSizes::value_heads,
                         &LinearSizes::key_width, &LinearSizes::value_width}) {
        LinearSizes sizes;
        sizes.*field = bad;
        EXPECT_EQ(refused(name, sizes).rfind("config.json: layers[0].", 0), 0u) << name << bad;
      }
    }
    LinearSizes conv, rank;
    conv.conv_width = bad;
    rank.gate_rank = bad;
    EXPECT_NE(refused("gdn", conv).find("conv"), std::string::npos);
    EXPECT_NE(refused("gla", rank).find("gate_rank"), std::string::npos);
  }
  LinearSizes uneven, narrow;
  uneven.key_heads = 3;
  uneven.value_heads = 4;
  narrow.key_heads = 64;
  EXPECT_NE(refused("gdn", uneven).find("multiple of the 3 key heads"), std::string::npos);
  // Retention turns its keys by pairs: hidden 64 in 64 heads leaves one channel a head.
  EXPECT_NE(refused("retnet", narrow).find("even"), std::string::npos);
}

TEST(architecture, yoco_shares_one_kv_from_the_middle_on) {
  const ModelSpec spec = to(small(), "yoco");
  EXPECT_EQ(spec.self_layers(), 2);  // floor(5 / 2)
  EXPECT_TRUE(spec.has_shared_kv());
  EXPECT_EQ(spec.streams, Streams::single);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(softmax_of(spec, i).kv, i < 2 ? KvSource::own : KvSource::shared) << i;
  }
  const ModelSpec retention = to(small(), "yoco-retention");
  EXPECT_EQ(linear_of(retention, 0).kind, Recurrence::gated_retention);
  EXPECT_EQ(linear_of(retention, 1).key_heads, 8);
  EXPECT_EQ(softmax_of(retention, 2).kv, KvSource::shared);
  EXPECT_EQ(architecture_of(retention), "yoco-retention");
  EXPECT_TRUE(names(refusal_of([] { return to(of_heads(8, 2, 8, 64, 1), "yoco"); }), "config.json",
                    "num_hidden_layers"));
  EXPECT_EQ(to(of_heads(8, 2, 8, 64, 2), "yoco").self_layers(), 1);
}

TEST(architecture, linear_layers_hold_no_attention_to_go_back_to) {
  for (const char* source : {"retnet", "gla", "gdn", "yoco-retention", "linear-hybrid"}) {
    const ModelSpec spec = to(of_heads(8, 2, 8, 64, 8), source);
    for (const char* name : {"transformer", "swa", "orthros", "orthros-noso", "retnet", "gla",
                             "gdn", "yoco", "yoco-retention"}) {
      if (std::string(name) == source) continue;
      EXPECT_TRUE(names(refusal_of([&] { return to(spec, name); }), "config.json", "layers"))
          << source << " to " << name;
    }
  }
  for (const char* source : {"retnet", "gla", "gdn", "yoco-retention"}) {
    const ModelSpec spec = to(of_heads(8, 2, 8, 64, 8), source);
    for (const char* name : {"linear-hybrid", "orthros-h"}) {
      EXPECT_TRUE(names(refusal_of([&] { return to(spec, name); }), "config.json", "layers"))
          << source << " to " << name;
    }
  }
}

TEST(architecture, partial_windows_are_mixed) {
  const ModelSpec spec =
      read(with(config_of("qwen3"),
                {{"sliding_window", 4}, {"use_sliding_window", true}, {"max_window_layers", 3}}));
  EXPECT_EQ(architecture_of(spec), "mixed");
  EXPECT_EQ(window_of(spec), 4);
  EXPECT_EQ(windows_of(to(spec, "swa")), std::vector<int64_t>(5, 4));
  EXPECT_EQ(windows_of(to(spec, "transformer")), std::vector<int64_t>(5, 0));
}

}  // namespace
}  // namespace orthros
