// Tests of `orthros-ref generate`.
#include <gtest/gtest.h>

#include "tests/reference/cli/checkpoints.hpp"
#include "tests/reference/cli/program_run.hpp"

namespace orthros {
namespace {

// The model's continuation by one `run` a token.
std::vector<int64_t> by_hand(const std::string& model, std::vector<int64_t> tokens, size_t count) {
  std::vector<int64_t> generated;
  while (generated.size() < count) {
    const auto row =
        ref_json({"run", "--model", model, "--tokens", comma_separated(tokens)})["logits"][0];
    generated.push_back(std::max_element(row.begin(), row.end()) - row.begin());
    tokens.push_back(generated.back());
  }
  return generated;
}

class generate_verb : public testing::TestWithParam<const char*> {};

TEST_P(generate_verb, decode_steps_equal_running_the_whole_sequence_for_each_token) {
  const GoldenCheckpoint checkpoint(GetParam());
  const std::vector<int64_t> expected = by_hand(checkpoint.path(), {5, 7, 9}, 6);
  for (const char* chunk : {"1", "2", "3"}) {
    const auto json = ref_json({"generate", "--model", checkpoint.path(), "--tokens", "5,7,9",
                                "--max-tokens", "6", "--ignore-eos", "--chunk", chunk});
    EXPECT_EQ(json["generated"], nlohmann::json(expected));
    EXPECT_EQ(json["finish_reason"], "length");
    EXPECT_EQ(json["eos"], nlohmann::json::array());
  }
}

INSTANTIATE_TEST_SUITE_P(each, generate_verb,
                         testing::Values("orthros_tiny", "mistral_swa4_tiny", "qwen3_5_text_tiny"),
                         [](const auto& each) { return std::string(each.param); });

TEST(generate_eos, any_of_the_eos_ids_stops_and_is_the_last) {
  const GoldenCheckpoint checkpoint("orthros_tiny");
  const std::vector<int64_t> free_run = by_hand(checkpoint.path(), {5, 7, 9}, 6);
  const int64_t third = free_run[2];
  const auto first = std::find(free_run.begin(), free_run.end(), third);
  const std::vector<int64_t> expected(free_run.begin(), first + 1);
  int64_t never = 0;  // an id that does not come up
  while (std::find(free_run.begin(), free_run.end(), never) != free_run.end()) ++never;
  const auto json = ref_json({"generate", "--model", checkpoint.path(), "--tokens", "5,7,9",
                              "--max-tokens", "6", "--eos", comma_separated({never, third})});
  EXPECT_EQ(json["generated"], nlohmann::json(expected));
  EXPECT_EQ(json["finish_reason"], "stop");
}

TEST(generate_eos, ids_of_config_and_generation_config_both_stop) {
  const GoldenCheckpoint checkpoint("orthros_tiny");
  const std::vector<int64_t> free_run = by_hand(checkpoint.path(), {5, 7, 9}, 2);
  ASSERT_NE(free_run[0], free_run[1]);
  nlohmann::json config = checkpoint.golden()["config"];
  config["eos_token_id"] = free_run[1];
  write_file(checkpoint.folder() / "config.json", config.dump());
  const auto generated = [&] {
    return ref_json({"generate", "--model", checkpoint.path(), "--tokens", "5,7,9"})["generated"];
  };
  EXPECT_EQ(generated(), nlohmann::json(free_run));
  write_file(checkpoint.folder() / "generation_config.json",
             nlohmann::json({{"eos_token_id", {free_run[0]}}}).dump());
  EXPECT_EQ(generated(), nlohmann::json({free_run[0]}));
}

TEST(generate_eos, ignoring_it_generates_to_the_end) {
  const GoldenCheckpoint checkpoint("mistral_swa4_tiny");  // its eos is 2
  const std::vector<std::string> words = {
      "generate", "--model", checkpoint.path(), "--tokens", "5,7", "--max-tokens", "5"};
  const auto stopped = ref_json(words);
  ASSERT_EQ(stopped["finish_reason"], "stop");
  EXPECT_EQ(stopped["generated"].back(), 2);
  std::vector<std::string> ignoring = words;
  ignoring.emplace_back("--ignore-eos");
  const auto whole = ref_json(ignoring);
  EXPECT_EQ(whole["generated"].size(), 5U);
  EXPECT_EQ(whole["finish_reason"], "length");
}

TEST(generate_length, no_tokens_are_generated_when_none_are_asked_for) {
  const GoldenCheckpoint checkpoint("qwen3_tiny");
  const auto json =
      ref_json({"generate", "--model", checkpoint.path(), "--tokens", "5", "--max-tokens", "0"});
  EXPECT_EQ(json["generated"], nlohmann::json::array());
  EXPECT_EQ(json["finish_reason"], "length");
}

TEST(generate_text, for_people_the_ids_stand_on_one_line) {
  const GoldenCheckpoint checkpoint("qwen3_tiny");
  const std::vector<int64_t> ids = by_hand(checkpoint.path(), {5, 7}, 3);
  const std::string text =
      ref_text({"generate", "--model", checkpoint.path(), "--tokens", "5,7", "--max-tokens", "3"});
  std::string line = "\nthen   ";
  for (const int64_t id : ids) line.append(" ").append(std::to_string(id));
  EXPECT_NE(text.find(line + "\nfinish  length, after 3 tokens\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace orthros
