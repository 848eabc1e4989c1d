// Tests of `orthros-ref loss`.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/cli/checkpoints.hpp"
#include "tests/reference/cli/program_run.hpp"

namespace orthros {
namespace {

constexpr const char* tokens = "5,7,9,11,13";
constexpr int64_t ids[] = {5, 7, 9, 11, 13};
constexpr int64_t end = 3;

// Sums of 101 exponentials of numbers below 8: under 101 roundings of numbers below 101 e^8, then a
// logarithm; in relative terms below 200 x 2^-53, in nats below 1e-12.
constexpr double rounding = 1e-12;

// -log softmax by its definition, from the logits that `run` prints.
double cross_entropy(const nlohmann::json& row, int64_t target) {
  double sum = 0.0;
  for (const double logit : row) sum += std::exp(logit);
  return std::log(sum) - row[static_cast<size_t>(target)].get<double>();
}

class loss_verb : public testing::Test {
 protected:
  nlohmann::json loss(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"loss", "--model", checkpoint_.path(), "--tokens", tokens};
    words.insert(words.end(), more.begin(), more.end());
    return ref_json(words);
  }
  // Checks a loss that predicts at positions first..last.
  void expect_positions(const nlohmann::json& loss, int64_t first, int64_t last) const {
    const auto logits = ref_json(
        {"run", "--model", checkpoint_.path(), "--tokens", tokens, "--outputs", "all"})["logits"];
    ASSERT_EQ(static_cast<int64_t>(loss["each"].size()), last - first + 1);
    double sum = 0.0;
    for (const auto& at : loss["each"]) {
      const auto position = at["position"].get<size_t>();
      const int64_t target = position < 5 ? ids[position] : end;
      EXPECT_EQ(at["target"], target);
      EXPECT_NEAR(at["loss"].get<double>(), cross_entropy(logits[position - 1], target), rounding);
      sum += at["loss"].get<double>();
    }
    EXPECT_EQ(loss["each"][0]["position"], first);
    const double mean = sum / static_cast<double>(last - first + 1);
    EXPECT_NEAR(loss["loss"].get<double>(), mean, rounding);
    EXPECT_NEAR(loss["perplexity"].get<double>(), std::exp(mean), rounding * std::exp(mean));
  }
  GoldenCheckpoint checkpoint_{"orthros_tiny"};
};

TEST_F(loss_verb, pretraining_predicts_at_every_position_that_has_a_token_behind_it) {
  expect_positions(loss({}), 1, 4);
  expect_positions(loss({"--end", "3"}), 1, 5);
}

TEST_F(loss_verb, fine_tuning_predicts_the_answer_and_its_end) {
  const auto answer = loss({"--mode", "finetune", "--prompt", "3", "--end", "3"});
  expect_positions(answer, 3, 5);
  EXPECT_EQ(answer["prompt"], 3);
  EXPECT_EQ(answer["end"], 3);
  expect_positions(loss({"--mode", "finetune", "--prompt", "3"}), 3, 4);
  expect_positions(loss({"--mode", "finetune", "--prompt", "5", "--end", "3"}), 5, 5);
}

TEST_F(loss_verb, for_people_it_prints_mean_and_perplexity) {
  const auto json = loss({});
  const std::string text = ref_text({"loss", "--model", checkpoint_.path(), "--tokens", tokens});
  const size_t at = text.find("loss    ");
  ASSERT_NE(at, std::string::npos) << text;
  // Printed to nine digits.
  EXPECT_NEAR(std::stod(text.substr(at + 8)), json["loss"].get<double>(), 1e-7);
}

}  // namespace
}  // namespace orthros
