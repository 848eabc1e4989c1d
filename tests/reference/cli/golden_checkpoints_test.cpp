// Tests that the command line gives the values that independent programs computed.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/cli/checkpoints.hpp"
#include "tests/reference/cli/program_run.hpp"

namespace orthros {
namespace {

double largest(const nlohmann::json& rows) {
  double most = 0.0;
  for (const auto& row : rows) {
    for (const double value : row) most = std::max(most, std::abs(value));
  }
  return most;
}

// Largest difference of row-major numbers, which must be as many.
double difference(const std::vector<double>& got, const nlohmann::json& rows) {
  double most = 0.0;
  size_t at = 0;
  for (const auto& row : rows) {
    for (const double value : row) {
      if (at == got.size()) return INFINITY;
      most = std::max(most, std::abs(got[at++] - value));
    }
  }
  return at == got.size() ? most : INFINITY;
}

std::vector<double> flat(const nlohmann::json& rows) {
  std::vector<double> values;
  for (const auto& row : rows) {
    for (const double value : row) values.push_back(value);
  }
  return values;
}

struct Golden {
  const char* name;
  double tolerance;  // of the largest logit: how much of the golden's own arithmetic is float32
};

class golden_checkpoints : public testing::TestWithParam<Golden> {};

TEST_P(golden_checkpoints, run_gives_their_logits) {
  const GoldenCheckpoint checkpoint(GetParam().name);
  for (const auto& item : checkpoint.golden()["cases"]) {
    const auto json = ref_json({"run", "--model", checkpoint.path(), "--tokens",
                                comma_separated(item["tokens"]), "--outputs", "all"});
    EXPECT_LE(difference(flat(json["logits"]), item["logits"]),
              GetParam().tolerance * largest(item["logits"]));
  }
}

INSTANTIATE_TEST_SUITE_P(each, golden_checkpoints,
                         testing::Values(Golden{"qwen3_tiny", 1e-5}, Golden{"llama3_tiny", 1e-5},
                                         Golden{"mistral_swa4_tiny", 1e-5},
                                         Golden{"qwen3_5_text_tiny", 3e-5},
                                         Golden{"orthros_tiny", 1e-9}),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(golden_dump, keys_and_values_of_orthros_are_those_of_an_independent_program) {
  const GoldenCheckpoint checkpoint("orthros_tiny");
  const TempFolder folder;
  const std::string dump = (folder / "dump.safetensors").string();
  for (const auto& item : checkpoint.golden()["cases"]) {
    const double bound = 1e-9 * largest(item["logits"]);
    const auto length = static_cast<int64_t>(item["tokens"].size());
    ref_text({"run", "--model", checkpoint.path(), "--tokens", comma_separated(item["tokens"]),
              "--outputs", comma_separated(item["outputs"]), "--dump", dump});
    const Safetensors file(dump);
    EXPECT_EQ(file.tensors().size(), 7U);
    EXPECT_LE(difference(f64_tensor(file, "logits", {length, 101}), item["logits"]), bound);
    for (size_t layer = 0; layer < 3; ++layer) {
      const std::string at = std::to_string(layer);
      EXPECT_LE(difference(f64_tensor(file, "keys." + at, {length, 32}), item["keys"][layer]),
                bound);
      EXPECT_LE(difference(f64_tensor(file, "values." + at, {length, 32}), item["values"][layer]),
                bound);
    }
  }
}

}  // namespace
}  // namespace orthros
