// Our own fields in a config: the "orthros" object that names one of the paper's systems.
#include "reference/spec/config_extension.hpp"

#include <gtest/gtest.h>

#include "tests/reference/spec/configs.hpp"
#include "tests/reference/spec/refusal.hpp"

namespace orthros {
namespace {

Json extended(const Json& extension) {
  return with(llama_config(), {{"orthros", extension}});
}

std::string refused(const Json& extension) {
  return refusal_of([&] { return read(extended(extension)); });
}

TEST(config_extension, null_and_absent_change_nothing) {
  EXPECT_TRUE(same_model(read(extended(nullptr)), read(llama_config())));
}

TEST(config_extension, names_the_system) {
  for (const std::string& name : architecture_names()) {
    const ModelSpec spec =
        read(with(extended({{"architecture", name}}), {{"num_hidden_layers", 8}}));
    EXPECT_EQ(architecture_of(spec), name);
  }
}

TEST(config_extension, an_unknown_system_lists_the_known) {
  const std::string line = refused({{"architecture", "mamba"}});
  EXPECT_TRUE(names(line, "config.json", "orthros.architecture", "mamba"));
  EXPECT_NE(line.find("linear-hybrid"), std::string::npos) << line;
  EXPECT_TRUE(names(refused(Json::object()), "config.json", "orthros.architecture"));
  EXPECT_TRUE(names(refused({{"architecture", 3}}), "config.json", "orthros.architecture"));
  EXPECT_TRUE(names(refused("swa"), "config.json", "orthros"));
}

TEST(config_extension, a_misspelt_field_is_refused) {
  EXPECT_TRUE(
      names(refused({{"architecture", "swa"}, {"windw", 4}}), "config.json", "orthros.windw"));
  EXPECT_TRUE(names(refused({{"architecture", "gdn"}, {"linear", {{"heads", 4}}}}), "config.json",
                    "orthros.linear.heads"));
}

TEST(config_extension, wrong_types_are_refused_by_field) {
  EXPECT_TRUE(
      names(refused({{"architecture", "swa"}, {"window", "4"}}), "config.json", "orthros.window"));
  EXPECT_TRUE(names(refused({{"architecture", "orthros"}, {"scale_offset", 1}}), "config.json",
                    "orthros.scale_offset"));
  EXPECT_TRUE(
      names(refused({{"architecture", "gdn"}, {"linear", 3}}), "config.json", "orthros.linear"));
  EXPECT_TRUE(names(refused({{"architecture", "gdn"}, {"linear", {{"key_heads", 1.5}}}}),
                    "config.json", "orthros.linear.key_heads"));
  EXPECT_TRUE(names(refused({{"architecture", "orthros-h"}, {"copy_query", "gelu"}}), "config.json",
                    "orthros.copy_query"));
  EXPECT_TRUE(names(refused({{"architecture", "orthros"}, {"scale_offset_placement", "late"}}),
                    "config.json", "orthros.scale_offset_placement"));
}

TEST(config_extension, scale_offset_and_its_place) {
  const auto place = [](const Json& changes) {
    return softmax_of(read(extended(with({{"architecture", "orthros"}}, changes)))).scale_offset;
  };
  EXPECT_EQ(place({}), ScaleOffset::after_qk_norm);
  EXPECT_EQ(place({{"scale_offset", true}}), ScaleOffset::after_qk_norm);
  EXPECT_EQ(place({{"scale_offset", false}}), ScaleOffset::none);
  EXPECT_EQ(place({{"scale_offset_placement", "before_qk_norm"}}), ScaleOffset::before_qk_norm);
  EXPECT_EQ(place({{"scale_offset", false}, {"scale_offset_placement", "before_qk_norm"}}),
            ScaleOffset::none);
}

TEST(config_extension, the_copys_query_reads_and_writes) {
  for (const auto& [name, query] : {std::pair{"silu", CopyQuery::silu},
                                    {"none", CopyQuery::none},
                                    {"last_tap", CopyQuery::last_tap}}) {
    const Json config = extended({{"architecture", "orthros-h"}, {"copy_query", name}});
    const ModelSpec spec = read(config);
    EXPECT_EQ(linear_of(spec).copy_query, query);
    EXPECT_TRUE(same_model(read(config_for(llama_config(), spec)), spec));
  }
}

// Orthros of a plain Transformer is written as DESIGN's checkpoints are, for anyone to read.
TEST(config_extension, orthros_is_written_by_model_type) {
  const Json config = golden_config("qwen3_tiny");
  const Json written = config_for(config, orthros(read(config), 4, ScaleOffset::after_qk_norm));
  EXPECT_EQ(written.at("model_type"), "orthros");
  EXPECT_EQ(written.at("sliding_window"), 4);
  EXPECT_EQ(written.at("scale_offset"), true);
  EXPECT_FALSE(written.contains("orthros"));
  EXPECT_EQ(written.at("rope_parameters"), config.at("rope_parameters"));
  EXPECT_TRUE(same_model(read(written), read(golden_config("orthros_tiny"))));
}

// Gated attention with zero-centred norms is no model_type orthros, even where all layers are full.
TEST(config_extension, orthros_of_a_gated_transformer_keeps_its_gates_and_norms) {
  const Json config = with(config_of("qwen3_5_text"), {{"full_attention_interval", 1}});
  const ModelSpec spec = orthros(read(config), 4, ScaleOffset::after_qk_norm);
  const Json written = config_for(config, spec);
  EXPECT_EQ(written.at("model_type"), "qwen3_5_text");
  EXPECT_TRUE(same_model(read(written), spec));
}

}  // namespace
}  // namespace orthros
