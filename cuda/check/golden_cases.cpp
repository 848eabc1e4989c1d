// Reads the goldens.
#include "cuda/check/golden_cases.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <system_error>

#include "cuda/check/reference_run.hpp"
#include "reference/spec/config.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {
namespace {

namespace fs = std::filesystem;

// A checkpoint that keeps its files open.
class GoldenWeights : public WeightSource {
 public:
  explicit GoldenWeights(const fs::path& path) : files_(path), weights_(files_) {}
  const TensorSource& files() const { return files_; }
  void read(const TensorInfo& tensor, int64_t first, std::span<double> out) const override {
    weights_.read(tensor, first, out);
  }
  bool has(const std::string& name) const override { return weights_.has(name); }

 private:
  TensorSource files_;
  CheckpointWeights weights_;
};

// One sequence for each case of the file, predicting everywhere; its last few tokens are decoded.
CheckCase golden_case(const fs::path& folder, const std::string& name) {
  const fs::path path = folder / (name + ".json");
  std::ifstream file(path);
  if (!file) throw InputError(path.string(), "", "expected a golden's values, found none");
  CheckCase made;
  made.name = "golden-" + name;
  made.chunks = {1, 3};
  made.token_by_token = true;
  try {
    const auto golden = nlohmann::json::parse(file);
    made.spec = spec_from_config(golden.at("config"), path.string());
    for (const auto& each : golden.at("cases")) {
      SequencePlan plan;
      plan.tokens = each.at("tokens").get<std::vector<int64_t>>();
      plan.prompt = std::max<int64_t>(1, plan.length() - 4);
      plan.outputs.resize(plan.tokens.size());
      std::iota(plan.outputs.begin(), plan.outputs.end(), int64_t{1});
      for (const auto& row : each.at("logits")) {
        const auto logits = row.get<std::vector<double>>();
        made.golden_logits.insert(made.golden_logits.end(), logits.begin(), logits.end());
      }
      made.sequences.push_back(std::move(plan));
    }
  } catch (const nlohmann::json::exception& error) {
    throw InputError(path.string(), "", error.what());
  }
  const auto weights = std::make_shared<GoldenWeights>(folder / (name + ".safetensors"));
  check_tensors(made.spec, weights->files());
  made.weights = std::make_shared<RoundedWeights>(weights);
  return made;
}

}  // namespace

std::optional<fs::path> goldens_folder() {
  const fs::path folder(ORTHROS_GOLDENS);
  std::error_code error;
  if (fs::is_directory(folder, error)) return folder;
  return std::nullopt;
}

std::vector<CheckCase> golden_cases(const fs::path& folder) {
  std::vector<CheckCase> cases;
  for (const char* name : {"qwen3_tiny", "llama3_tiny", "mistral_swa4_tiny", "orthros_tiny"}) {
    cases.push_back(golden_case(folder, name));
  }
  return cases;
}

}  // namespace orthros::cuda
