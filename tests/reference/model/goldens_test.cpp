// Checkpoints whose logits independent programs computed, run every way a prompt can be run.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "reference/spec/config.hpp"
#include "tests/support/runs.hpp"

namespace orthros {
namespace {

Matrix<double> matrix_from(const nlohmann::json& rows) {
  Matrix<double> m(static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size()));
  for (int64_t r = 0; r < m.rows(); ++r) {
    for (int64_t c = 0; c < m.cols(); ++c) {
      m(r, c) = rows[static_cast<size_t>(r)][static_cast<size_t>(c)].get<double>();
    }
  }
  return m;
}

// Runs every case of a golden file in one call, in pieces of 3, and token by token, and compares
// logits, keys and values with what is written. The tolerances are the authors' statement of how
// far their own arithmetic (norms, angles and recurrences partly in float32) can be trusted.
void expect_golden(const std::string& name, double tolerance,
                   const ForwardOptions<double>& options = {}) {
  const std::filesystem::path folder = std::filesystem::path(ORTHROS_TEST_DATA) / "goldens";
  std::ifstream file(folder / (name + ".json"));
  const auto golden = nlohmann::json::parse(file);
  const ModelSpec spec = spec_from_config(golden.at("config"), name + ".json");
  const TensorSource tensors(folder / (name + ".safetensors"));
  check_tensors(spec, tensors);
  const auto model = double_subject().load(spec, CheckpointWeights(tensors));
  for (const auto& each : golden.at("cases")) {
    const auto tokens = each.at("tokens").get<std::vector<int64_t>>();
    const auto length = static_cast<int64_t>(tokens.size());
    std::vector<int64_t> outputs;
    for (int64_t t = 1; t <= length; ++t) outputs.push_back(t);
    const Matrix<double> expected = matrix_from(each.at("logits"));
    std::vector<std::vector<int64_t>> schedules = {{length},
                                                   std::vector<int64_t>(tokens.size(), 1)};
    std::vector<int64_t> threes(static_cast<size_t>(length / 3), 3);
    if (length % 3 != 0) threes.push_back(length % 3);
    schedules.push_back(threes);
    for (const auto& pieces : schedules) {
      const auto cache = model->new_cache();
      const Matrix<double> logits = run_in_pieces(*model, *cache, tokens, pieces, outputs, options);
      EXPECT_LT(relative_error(logits, expected), tolerance) << name << ", " << length << " tokens";
      if (!each.contains("keys")) continue;
      const Memory memory = cache->memory();
      for (size_t i = 0; i < memory.size(); ++i) {
        EXPECT_LT(relative_error(memory[i].keys, matrix_from(each.at("keys")[i])), tolerance);
        EXPECT_LT(relative_error(memory[i].values, matrix_from(each.at("values")[i])), tolerance);
      }
    }
  }
}

TEST(golden, qwen3) {
  expect_golden("qwen3_tiny", 1e-5);
}

TEST(golden, llama3) {
  expect_golden("llama3_tiny", 1e-5);
}

TEST(golden, mistral_with_a_window_of_4) {
  expect_golden("mistral_swa4_tiny", 1e-5);
}

TEST(golden, orthros_with_its_keys_and_values) {
  expect_golden("orthros_tiny", 1e-9);
}

TEST(golden, qwen3_5_recurrent) {
  expect_golden("qwen3_5_text_tiny", 3e-5);
}

TEST(golden, qwen3_5_chunkwise) {
  for (const int64_t chunk : {64, 16, 7}) {
    ForwardOptions<double> options;
    options.form = RecurrentForm::chunkwise;
    options.chunk = chunk;
    expect_golden("qwen3_5_text_tiny", 3e-5, options);
  }
}

}  // namespace
}  // namespace orthros
