// Which layers of which config are windowed.
#include <gtest/gtest.h>

#include "reference/spec/architecture.hpp"
#include "tests/reference/spec/configs.hpp"
#include "tests/reference/spec/refusal.hpp"

namespace orthros {
namespace {

const std::vector<int64_t> none(5, 0);
const Json full = "full_attention";
const Json sliding = "sliding_attention";

std::vector<int64_t> windows(const char* model_type, const Json& changes) {
  return windows_of(read(with(config_of(model_type), changes)));
}

std::string refused(const char* model_type, const Json& changes) {
  return refusal_of([&] { return read(with(config_of(model_type), changes)); });
}

TEST(config_windows, null_is_the_same_as_absent) {
  for (const char* type : {"llama", "mistral", "qwen3"}) {
    EXPECT_EQ(windows(type, {}), none) << type;
    EXPECT_EQ(windows(type, {{"sliding_window", nullptr}}), none) << type;
    EXPECT_EQ(windows(type, {{"sliding_window", nullptr},
                             {"use_sliding_window", nullptr},
                             {"max_window_layers", nullptr},
                             {"layer_types", nullptr}}),
              none)
        << type;
  }
}

TEST(config_windows, use_sliding_window_false_means_no_window) {
  for (const char* type : {"llama", "mistral", "qwen3"}) {
    EXPECT_EQ(windows(type, {{"sliding_window", 4096}, {"use_sliding_window", false}}), none)
        << type;
    EXPECT_EQ(windows(type, {{"sliding_window", 4096},
                             {"use_sliding_window", false},
                             {"max_window_layers", 0}}),
              none)
        << type;
  }
}

TEST(config_windows, qwen_windows_the_layers_from_max_window_layers_on) {
  const Json on = {{"sliding_window", 4096}, {"use_sliding_window", true}};
  EXPECT_EQ(windows("qwen3", on), none);  // 28 layers by default, and there are 5
  EXPECT_EQ(windows("qwen3", with(on, {{"max_window_layers", 28}})), none);
  EXPECT_EQ(windows("qwen3", with(on, {{"max_window_layers", 5}})), none);
  EXPECT_EQ(windows("qwen3", with(on, {{"max_window_layers", 3}})),
            (std::vector<int64_t>{0, 0, 0, 4096, 4096}));
  EXPECT_EQ(windows("qwen3", with(on, {{"max_window_layers", 0}})), std::vector<int64_t>(5, 4096));
  const ModelSpec thirty = read(with(config_of("qwen3"), with(on, {{"num_hidden_layers", 30}})));
  for (size_t i = 0; i < 30; ++i) EXPECT_EQ(softmax_of(thirty, i).window.has_value(), i >= 28) << i;
}

TEST(config_windows, qwen_needs_windows_turned_on) {
  EXPECT_EQ(windows("qwen3", {{"sliding_window", 4096}}), none);
  EXPECT_EQ(windows("qwen3", {{"sliding_window", 4096}, {"max_window_layers", 0}}), none);
  EXPECT_EQ(
      windows("qwen3", {{"sliding_window", 7},
                        {"use_sliding_window", false},
                        {"layer_types", Json::array({sliding, sliding, sliding, full, full})}}),
      none);
}

TEST(config_windows, layer_types_decide_where_they_stand) {
  const Json types = Json::array({full, sliding, full, sliding, sliding});
  const std::vector<int64_t> expected = {0, 7, 0, 7, 7};
  EXPECT_EQ(windows("qwen3", {{"sliding_window", 7},
                              {"use_sliding_window", true},
                              {"max_window_layers", 0},
                              {"layer_types", types}}),
            expected);
  EXPECT_EQ(windows("mistral", {{"sliding_window", 7}, {"layer_types", types}}), expected);
  const Json all_full = Json::array({full, full, full, full, full});
  EXPECT_EQ(windows("mistral", {{"sliding_window", 7}, {"layer_types", all_full}}), none);
  for (const char* type : {"llama", "mistral", "qwen3"}) {
    EXPECT_EQ(windows(type, {{"layer_types", all_full}}), none) << type;
  }
}

TEST(config_windows, a_sliding_layer_needs_a_number) {
  const Json types = Json::array({full, sliding, full, full, full});
  EXPECT_TRUE(names(refused("mistral", {{"layer_types", types}}), "config.json", "sliding_window"));
  EXPECT_TRUE(names(refused("qwen3", {{"layer_types", types}, {"use_sliding_window", true}}),
                    "config.json", "sliding_window"));
}

TEST(config_windows, mistral_windows_by_the_number_alone) {
  EXPECT_EQ(windows("mistral", {{"sliding_window", 4}}), std::vector<int64_t>(5, 4));
  EXPECT_EQ(windows("mistral", {{"sliding_window", 4}, {"max_window_layers", 3}}),
            std::vector<int64_t>(5, 4));
}

TEST(config_windows, a_list_gives_each_layer_its_own) {
  EXPECT_EQ(windows("mistral", {{"sliding_window", {4, nullptr, 8, 4, nullptr}}}),
            (std::vector<int64_t>{4, 0, 8, 4, 0}));
  EXPECT_EQ(windows("qwen3", {{"sliding_window", {4, 4, 4, 4, nullptr}},
                              {"use_sliding_window", true},
                              {"max_window_layers", 3}}),
            (std::vector<int64_t>{0, 0, 0, 4, 0}));
  for (const Json& bad :
       {Json{4, 4}, Json::array(), Json{4, 4, 4, 4, 4, 4}, Json{4, 4, 4, 4, 4.5},
        Json{4, 4, 4, 4, "4"}, Json{4, 4, 4, 4, 18446744073709551615u}, Json{4, 4, 4, 4, {4}}}) {
    EXPECT_TRUE(
        names(refused("mistral", {{"sliding_window", bad}}), "config.json", "sliding_window"))
        << bad;
  }
  EXPECT_TRUE(names(refused("mistral", {{"sliding_window", {4, 4, 0, 4, 4}}}), "config.json",
                    "layers[2].sliding_window"));
}

TEST(config_windows, no_window_for_llama_and_qwen3_5) {
  for (const char* type : {"llama", "qwen3_5_text"}) {
    EXPECT_TRUE(
        names(refused(type, {{"sliding_window", 4096}}), "config.json", "sliding_window", type));
    EXPECT_TRUE(names(refused(type, {{"sliding_window", 4096}, {"use_sliding_window", true}}),
                      "config.json", "sliding_window", type));
    EXPECT_TRUE(names(refused(type, {{"layer_types", {full, full, sliding, full, full}}}),
                      "config.json", "layer_types", type));
  }
}

TEST(config_windows, windows_of_no_key_or_of_too_many_are_refused) {
  for (const Json& bad :
       {Json(0), Json(-1), Json((int64_t{1} << 31) + 1), Json(int64_t{1} << 62)}) {
    EXPECT_TRUE(names(refused("mistral", {{"sliding_window", bad}}), "config.json",
                      "layers[0].sliding_window"));
  }
  for (const Json& bad : {Json("4096"), Json(4.0), Json(true), Json::object()}) {
    EXPECT_TRUE(
        names(refused("mistral", {{"sliding_window", bad}}), "config.json", "sliding_window"));
  }
}

TEST(config_windows, orthros_takes_its_window_from_sliding_window_alone) {
  const std::vector<int64_t> four(5, 4);
  EXPECT_EQ(windows("orthros", {}), four);
  EXPECT_EQ(windows("orthros", {{"use_sliding_window", false}}), four);
  EXPECT_EQ(windows("orthros", {{"use_sliding_window", true}, {"max_window_layers", 28}}), four);
  EXPECT_EQ(windows("orthros", {{"max_window_layers", 2}}), four);
  EXPECT_EQ(windows("orthros", {{"layer_types", {full, full, sliding, full, full}}}), four);
  // No effect means none, not even for a list of another length or of other names.
  EXPECT_EQ(windows("orthros", {{"layer_types", {full, "linear_attention", "chunked"}}}), four);
  EXPECT_EQ(windows("orthros", {{"sliding_window", {4, 4, 4, 4, 4}}}), four);
  EXPECT_TRUE(
      names(refused("orthros", {{"sliding_window", nullptr}}), "config.json", "sliding_window"));
  EXPECT_TRUE(
      names(refusal_of([] { return read(without(config_of("orthros"), "sliding_window")); }),
            "config.json", "sliding_window"));
  EXPECT_TRUE(names(refused("orthros", {{"sliding_window", {4, 4, 8, 4, 4}}}), "config.json",
                    "sliding_window"));
}

}  // namespace
}  // namespace orthros
