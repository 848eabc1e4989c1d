// The rotary part of a config, wherever it stands.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/spec/configs.hpp"
#include "tests/reference/spec/refusal.hpp"

namespace orthros {
namespace {

const Json bare = without(llama_config(), "rope_theta");  // heads of 8, 4096 positions

Rope rope(const Json& changes) {
  return *softmax_of(read(with(bare, changes))).rope;
}

std::string refused(const Json& changes) {
  return refusal_of([&] { return read(with(bare, changes)); });
}

TEST(config_rope, theta_is_found_wherever_it_stands) {
  EXPECT_EQ(rope({{"rope_theta", 5e5}}).theta, 5e5);
  EXPECT_EQ(rope({{"rope_theta", 1000000}}).theta, 1e6);
  EXPECT_EQ(rope({{"rope_parameters", {{"rope_theta", 5e5}}}}).theta, 5e5);
  EXPECT_EQ(rope({{"rope_parameters", {{"rope_theta", 5e5}, {"rope_type", "default"}}}}).theta,
            5e5);
  EXPECT_EQ(rope({{"rope_theta", 5e5}, {"rope_parameters", {{"rope_theta", 5e5}}}}).theta, 5e5);
  EXPECT_EQ(rope({{"rope_theta", nullptr}, {"rope_parameters", {{"rope_theta", 7e3}}}}).theta, 7e3);
  EXPECT_EQ(rope({{"rope_theta", 5e5}, {"rope_parameters", nullptr}}).theta, 5e5);
  EXPECT_EQ(rope({{"rope_theta", 5e5}, {"rope_parameters", Json::object()}}).theta, 5e5);
}

TEST(config_rope, a_theta_that_is_nowhere_is_never_a_silent_10000) {
  EXPECT_TRUE(names(refused({}), "config.json", "rope_theta"));
  EXPECT_TRUE(names(refused({{"rope_parameters", {{"rope_type", "default"}}}}), "config.json",
                    "rope_theta"));
}

TEST(config_rope, two_thetas_that_differ_are_refused) {
  EXPECT_TRUE(names(refused({{"rope_theta", 1e4}, {"rope_parameters", {{"rope_theta", 5e5}}}}),
                    "config.json", "rope_parameters.rope_theta"));
}

TEST(config_rope, default_scaling_is_none_under_every_name) {
  for (const Json& scaling :
       {Json(nullptr), Json::object(), Json{{"type", "default"}}, Json{{"rope_type", "default"}},
        Json{{"type", "mrope"}, {"mrope_section", {16, 24, 24}}},
        Json{{"type", "default"}, {"rope_type", "default"}}, Json{{"rope_type", nullptr}}}) {
    const Rope read = rope({{"rope_theta", 1e4}, {"rope_scaling", scaling}});
    EXPECT_EQ(read.scaling, RopeScaling::none) << scaling;
    EXPECT_EQ(read.width, 8);
    EXPECT_EQ(read.factor, 1.0);
  }
}

TEST(config_rope, type_and_rope_type_name_the_same_thing) {
  for (const char* key : {"type", "rope_type"}) {
    for (const char* place : {"rope_scaling", "rope_parameters"}) {
      const Rope linear = rope({{"rope_theta", 1e4}, {place, {{key, "linear"}, {"factor", 2}}}});
      EXPECT_EQ(linear.scaling, RopeScaling::linear);
      EXPECT_EQ(linear.factor, 2.0);
      const Rope llama3 = rope({{"rope_theta", 5e5},
                                {place,
                                 {{key, "llama3"},
                                  {"factor", 8.0},
                                  {"low_freq_factor", 1.0},
                                  {"high_freq_factor", 4.0},
                                  {"original_max_position_embeddings", 64}}}});
      EXPECT_EQ(llama3.scaling, RopeScaling::llama3);
      EXPECT_EQ(llama3.original_max_position, 64);
      const Rope yarn = rope(
          {{"rope_theta", 1e6},
           {place, {{key, "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 32768}}}});
      EXPECT_EQ(yarn.scaling, RopeScaling::yarn);
    }
  }
  EXPECT_TRUE(names(
      refused({{"rope_theta", 1e4}, {"rope_scaling", {{"type", "linear"}, {"rope_type", "yarn"}}}}),
      "config.json", "rope_scaling.type"));
}

TEST(config_rope, other_kinds_of_scaling_are_refused_by_name) {
  for (const char* kind : {"dynamic", "longrope", "su", "ntk", "Linear", "", "proportional"}) {
    EXPECT_TRUE(names(refused({{"rope_theta", 1e4}, {"rope_scaling", {{"rope_type", kind}}}}),
                      "config.json", "rope_scaling.rope_type", kind));
    EXPECT_TRUE(
        names(refused({{"rope_theta", 1e4}, {"rope_scaling", {{"type", kind}, {"factor", 2.0}}}}),
              "config.json", "rope_scaling.type", kind));
    EXPECT_TRUE(names(refused({{"rope_parameters", {{"rope_theta", 1e4}, {"rope_type", kind}}}}),
                      "config.json", "rope_parameters.rope_type", kind));
  }
  EXPECT_TRUE(names(refused({{"rope_parameters",
                              {{"full_attention", {{"rope_theta", 1e6}}},
                               {"sliding_attention", {{"rope_theta", 1e4}}}}}}),
                    "config.json", "rope_parameters.full_attention"));
}

TEST(config_rope, rope_parameters_and_rope_scaling_must_agree) {
  const Json linear2 = {{"rope_theta", 1e4}, {"type", "linear"}, {"factor", 2.0}};
  const Json linear4 = {{"type", "linear"}, {"factor", 4.0}};
  EXPECT_TRUE(names(refused({{"rope_parameters", linear2}, {"rope_scaling", linear4}}),
                    "config.json", "rope_scaling"));
  EXPECT_EQ(rope({{"rope_parameters", linear2}, {"rope_scaling", linear2}}).factor, 2.0);
  EXPECT_EQ(rope({{"rope_parameters", linear2}, {"rope_scaling", nullptr}}).factor, 2.0);
}

TEST(config_rope, a_scaling_lacks_nothing_it_needs) {
  const Json llama3 = {{"rope_type", "llama3"},
                       {"factor", 8.0},
                       {"low_freq_factor", 1.0},
                       {"high_freq_factor", 4.0},
                       {"original_max_position_embeddings", 64}};
  for (const char* field : {"factor", "low_freq_factor", "high_freq_factor"}) {
    EXPECT_TRUE(names(refused({{"rope_theta", 1e4}, {"rope_scaling", without(llama3, field)}}),
                      "config.json", std::string("rope_scaling.") + field));
  }
  EXPECT_TRUE(names(refused({{"rope_theta", 1e4}, {"rope_scaling", {{"type", "linear"}}}}),
                    "config.json", "rope_scaling.factor"));
  for (const char* bad : {"\"8\"", "true", "[8]", "{}"}) {
    EXPECT_TRUE(names(refused({{"rope_theta", 1e4},
                               {"rope_scaling", with(llama3, {{"factor", Json::parse(bad)}})}}),
                      "config.json", "rope_scaling.factor"));
  }
  for (const char* bad : {"\"linear\"", "3", "[]", "true"}) {
    EXPECT_TRUE(names(refused({{"rope_theta", 1e4}, {"rope_scaling", Json::parse(bad)}}),
                      "config.json", "rope_scaling"));
    EXPECT_TRUE(names(refused({{"rope_theta", 1e4}, {"rope_parameters", Json::parse(bad)}}),
                      "config.json", "rope_parameters"));
  }
}

TEST(config_rope, numbers_that_make_no_angles_are_refused) {
  for (double theta : {0.0, -1e4, 0.5, 1e-300}) {
    EXPECT_TRUE(
        names(refused({{"rope_theta", theta}}), "config.json", "layers[0].rope.rope_theta"));
  }
  const Json yarn = {
      {"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 64}};
  const auto with_yarn = [&](const Json& changes) {
    return refused({{"rope_theta", 1e4}, {"rope_scaling", with(yarn, changes)}});
  };
  const std::string at = "layers[0].rope";
  EXPECT_TRUE(names(refused({{"rope_theta", 1.0}, {"rope_scaling", yarn}}), "config.json",
                    at + ".rope_theta"));
  EXPECT_TRUE(names(with_yarn({{"factor", 0.5}}), "config.json", at + ".factor"));
  EXPECT_TRUE(names(with_yarn({{"factor", -4}}), "config.json", at + ".factor"));
  EXPECT_TRUE(names(with_yarn({{"original_max_position_embeddings", 0}}), "config.json",
                    at + ".original_max_position_embeddings"));
  EXPECT_TRUE(names(with_yarn({{"beta_fast", 1.0}}), "config.json", at + ".beta_fast"));
  EXPECT_TRUE(names(with_yarn({{"beta_slow", 0.0}}), "config.json", at + ".beta_fast"));
  EXPECT_TRUE(
      names(with_yarn({{"attention_factor", 0.0}}), "config.json", at + ".attention_factor"));
  EXPECT_TRUE(names(with_yarn({{"mscale", 1e308}, {"mscale_all_dim", 1e-308}, {"factor", 1e300}}),
                    "config.json", at + ".attention_factor"));
  const Json llama3 = {{"rope_type", "llama3"},
                       {"factor", 8.0},
                       {"low_freq_factor", 4.0},
                       {"high_freq_factor", 4.0},
                       {"original_max_position_embeddings", 64}};
  EXPECT_TRUE(names(refused({{"rope_theta", 1e4}, {"rope_scaling", llama3}}), "config.json",
                    at + ".high_freq_factor"));
}

TEST(config_rope, yarn_reads_all_its_fields) {
  const Rope given = rope({{"rope_theta", 1.5e5},
                           {"rope_scaling",
                            {{"rope_type", "yarn"},
                             {"factor", 32.0},
                             {"beta_fast", 16.0},
                             {"beta_slow", 2.0},
                             {"truncate", false},
                             {"attention_factor", 1.25},
                             {"original_max_position_embeddings", 128}}}});
  EXPECT_EQ(given.beta_fast, 16.0);
  EXPECT_EQ(given.beta_slow, 2.0);
  EXPECT_FALSE(given.truncate);
  EXPECT_EQ(given.attention_factor, 1.25);
}

// transformers: the trained length defaults to max_position_embeddings, the factor to the ratio of
// the two, mscale and mscale_all_dim to one ratio of attention factors.
TEST(config_rope, yarn_defaults_are_those_of_transformers) {
  const Rope no_length =
      rope({{"rope_theta", 1e4}, {"rope_scaling", {{"type", "yarn"}, {"factor", 4.0}}}});
  EXPECT_EQ(no_length.original_max_position, 4096);
  const Rope top_length = rope({{"rope_theta", 1e4},
                                {"original_max_position_embeddings", 512},
                                {"rope_scaling", {{"type", "yarn"}, {"factor", 4.0}}}});
  EXPECT_EQ(top_length.original_max_position, 512);
  const Rope no_factor =
      rope({{"rope_theta", 1e4},
            {"rope_scaling", {{"type", "yarn"}, {"original_max_position_embeddings", 512}}}});
  EXPECT_EQ(no_factor.factor, 8.0);
  EXPECT_DOUBLE_EQ(no_factor.attention_factor, 0.1 * std::log(8.0) + 1.0);
  const Rope mscale = rope({{"rope_theta", 1e4},
                            {"rope_scaling",
                             {{"type", "yarn"},
                              {"factor", 40.0},
                              {"mscale", 1.0},
                              {"mscale_all_dim", 0.5},
                              {"original_max_position_embeddings", 512}}}});
  EXPECT_DOUBLE_EQ(mscale.attention_factor,
                   (0.1 * std::log(40.0) + 1.0) / (0.05 * std::log(40.0) + 1.0));
}

TEST(config_rope, the_rotated_part_is_read_and_defaults_by_family) {
  EXPECT_EQ(rope({{"rope_theta", 1e4}}).width, 8);
  EXPECT_EQ(rope({{"rope_theta", 1e4}, {"partial_rotary_factor", 0.5}}).width, 4);
  const Json qwen = without(config_of("qwen3_5_text"), "partial_rotary_factor");
  EXPECT_EQ(softmax_of(read(qwen), 3).rope->width, 4);  // a quarter of 16
  EXPECT_EQ(softmax_of(read(with(qwen, {{"rope_parameters", {{"partial_rotary_factor", 0.5}}}})), 3)
                .rope->width,
            8);
  for (double bad : {0.0, -0.25, 1.5}) {
    EXPECT_TRUE(names(refused({{"rope_theta", 1e4}, {"partial_rotary_factor", bad}}), "config.json",
                      "partial_rotary_factor"));
  }
  // An odd number of channels makes no pairs, nor does none.
  EXPECT_TRUE(names(refused({{"rope_theta", 1e4}, {"partial_rotary_factor", 0.4}}), "config.json",
                    "layers[0].rope"));
  EXPECT_TRUE(names(refused({{"rope_theta", 1e4}, {"partial_rotary_factor", 0.1}}), "config.json",
                    "layers[0].rope"));
}

}  // namespace
}  // namespace orthros
