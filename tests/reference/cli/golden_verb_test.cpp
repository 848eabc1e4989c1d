// Tests of `orthros-ref golden`.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/cli/checkpoints.hpp"
#include "tests/reference/cli/program_run.hpp"

namespace orthros {
namespace {

using Words = std::vector<std::string>;

class golden_verb : public testing::Test {
 protected:
  golden_verb() {
    nlohmann::json config = golden_json("qwen3_tiny")["config"];
    config["num_hidden_layers"] = 4;
    config.erase("layer_types");
    write_file(folder_ / "config.json", config.dump());
  }
  std::string make(const std::string& arch, const std::string& name, const Words& more = {}) const {
    Words words = {
        "golden", "--arch",   arch, "--random", (folder_ / "config.json").string(), "--seed",
        "5",      "--window", "3",  "--out",    (folder_ / name).string()};
    words.insert(words.end(), more.begin(), more.end());
    ref_text(words);
    return (folder_ / name).string();
  }
  TempFolder folder_;
};

TEST_F(golden_verb, the_checkpoint_runs_to_the_same_logits_and_caches_in_every_architecture) {
  for (const char* arch : {"transformer", "swa", "orthros", "orthros-noso", "retnet", "gla", "gdn",
                           "yoco", "yoco-retention", "linear-hybrid", "orthros-h"}) {
    const std::string at = make(arch, arch, {"--length", "9", "--outputs", "9,2,5"});
    const std::string dump = (folder_ / "dump").string();
    const auto run = ref_json({"run", "--model", at, "--tokens", "@" + at + "/tokens.json",
                               "--outputs", "@" + at + "/outputs.json", "--dump", dump});
    EXPECT_EQ(run["arch"], arch);
    const Safetensors kept(at + "/intermediates.safetensors");
    const Safetensors dumped(dump);
    for (const TensorView& tensor : dumped.tensors()) {
      EXPECT_EQ(f64_tensor(kept, tensor.name, tensor.shape), values_of(tensor))
          << arch << tensor.name;
    }
  }
}

TEST_F(golden_verb, the_same_seed_gives_the_same_bytes) {
  const std::string one = make("orthros", "one");
  const std::string two = make("orthros", "two");
  for (const char* file : {"/model.safetensors", "/intermediates.safetensors", "/README.md",
                           "/config.json", "/tokens.json", "/outputs.json"}) {
    EXPECT_EQ(read_file(one + file), read_file(two + file)) << file;
  }
}

TEST_F(golden_verb, the_readme_names_every_tensor_with_its_shape_and_meaning) {
  for (const char* arch : {"orthros", "orthros-h", "yoco"}) {
    const std::string at = make(arch, arch, {"--tokens", "5,7,9,11", "--outputs", "2,4"});
    const std::string readme = read_file(at + "/README.md");
    const Safetensors kept(at + "/intermediates.safetensors");
    for (const TensorView& tensor : kept.tensors()) {
      std::string shape;
      for (const int64_t extent : tensor.shape) {
        shape.append(shape.empty() ? "" : " x ").append(std::to_string(extent));
      }
      const size_t row = readme.find("| " + tensor.name + " | " + shape + " | ");
      ASSERT_NE(row, std::string::npos) << tensor.name;
      EXPECT_EQ(readme.substr(row, readme.find('\n', row) - row).find("|  |"), std::string::npos);
    }
  }
}

TEST_F(golden_verb, each_layer_and_stream_of_orthros_has_its_intermediates) {
  const std::string at = make("orthros", "at", {"--tokens", "5,7,9,11,2", "--outputs", "2,4"});
  const Safetensors kept(at + "/intermediates.safetensors");
  for (int layer = 0; layer < 4; ++layer) {
    const std::string name = "layers." + std::to_string(layer) + ".";
    for (const auto& [part, width] : {std::pair("normed", 48), std::pair("q", 64),
                                      std::pair("attention", 64), std::pair("residual", 48)}) {
      f64_tensor(kept, name + "base." + part, {5, width});
      f64_tensor(kept, name + "output." + part, {2, width});
    }
    f64_tensor(kept, name + "base.k", {5, 32});
    f64_tensor(kept, name + "base.v", {5, 32});
    // The copies write nothing, so all keys are the base stream's.
    EXPECT_EQ(f64_tensor(kept, name + "base.k", {5, 32}),
              f64_tensor(kept, "keys." + std::to_string(layer), {5, 32}));
  }
  f64_tensor(kept, "output.final_normed", {2, 48});
}

// Softmax attention of the output stream over the kept q, keys and values, by its definition.
TEST_F(golden_verb, the_attention_kept_is_attention_over_the_kept_q_k_and_v) {
  const std::string at = make("orthros", "at", {"--tokens", "5,7,9,11,2", "--outputs", "4"});
  const Safetensors kept(at + "/intermediates.safetensors");
  const auto q = f64_tensor(kept, "layers.1.output.q", {1, 64});
  const auto k = f64_tensor(kept, "layers.1.base.k", {5, 32});
  const auto v = f64_tensor(kept, "layers.1.base.v", {5, 32});
  const auto o = f64_tensor(kept, "layers.1.output.attention", {1, 64});
  for (size_t head = 0; head < 4; ++head) {
    std::vector<double> weights;
    double sum = 0.0;
    for (size_t j = 0; j < 4; ++j) {  // position 4 sees all four
      double score = 0.0;
      for (size_t i = 0; i < 16; ++i) score += q[head * 16 + i] * k[j * 32 + head / 2 * 16 + i];
      weights.push_back(std::exp(score / 4.0));
      sum += weights.back();
    }
    for (size_t i = 0; i < 16; ++i) {
      double value = 0.0;
      for (size_t j = 0; j < 4; ++j) value += weights[j] / sum * v[j * 32 + head / 2 * 16 + i];
      // Scores below 20 with 16 roundings each give weights good to 20 x 17 x 2^-53; values
      // below 8.
      EXPECT_NEAR(o[head * 16 + i], value, 1e-11);
    }
  }
}

TEST_F(golden_verb, the_config_names_no_published_model_and_says_bf16) {
  ref_text({"golden", "--arch", "orthros", "--random", (folder_ / "config.json").string(), "--out",
            (folder_ / "out").string()});
  const auto config = nlohmann::json::parse(read_file(folder_ / "out/config.json"));
  EXPECT_EQ(config["torch_dtype"], "bfloat16");
  EXPECT_FALSE(config.contains("hf_names"));
  const auto described = ref_json({"describe", "--model", (folder_ / "out").string()});
  EXPECT_EQ(described["dtype"], "BF16");
  EXPECT_EQ(described["tensors"]["dtypes"], nlohmann::json({"BF16"}));
}

TEST_F(golden_verb, a_refused_request_leaves_nothing) {
  const Words before = folder_.names();
  const std::string config = (folder_ / "config.json").string();
  const std::string out = (folder_ / "out").string();
  for (const Words& more :
       {Words{"--tokens", "101"}, Words{"--length", "0"}, Words{"--outputs", "17"},
        Words{"--tokens", "1", "--length", "4"}, Words{"--arch", "none"}}) {
    Words words = {"golden", "--random", config, "--out", out};
    words.insert(words.end(), more.begin(), more.end());
    ref_refusal(words);
    EXPECT_EQ(folder_.names(), before);
  }
}

}  // namespace
}  // namespace orthros
