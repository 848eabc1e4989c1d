// Tests of orthros-cuda on a device; without one each is skipped and says so.
#include <gtest/gtest.h>

#include "tests/cuda/cuda_run.hpp"
#include "tests/reference/cli/checkpoints.hpp"
#include "tests/reference/cli/program_run.hpp"

namespace orthros::cuda {
namespace {

class on_device : public testing::Test {
 protected:
  void SetUp() override {
    static const std::string why = [] {
      const ProgramRun run = run_cuda({"check", "--only", "no such case"});
      const size_t at = run.err.find("device: ");
      return at == std::string::npos ? std::string() : run.err.substr(at);
    }();
    if (!why.empty()) GTEST_SKIP() << why;
  }

  // The reference's dump in the engine's arithmetic, and the engine's, which is told `more`: the
  // same tensors, bit for bit.
  void expect_same_dump(const Words& words, const Words& more = {}) const {
    const std::string expected = (folder_ / "expected.safetensors").string();
    const std::string actual = (folder_ / "actual.safetensors").string();
    Words of_reference = {"run", "--scalar", "hopper", "--dump", expected};
    Words of_engine = {"run", "--dump", actual};
    of_reference.insert(of_reference.end(), words.begin(), words.end());
    of_engine.insert(of_engine.end(), words.begin(), words.end());
    of_engine.insert(of_engine.end(), more.begin(), more.end());
    ref_text(of_reference);
    ASSERT_EQ(run_cuda(of_engine).status, 0);
    const Safetensors a(expected);
    const Safetensors b(actual);
    ASSERT_EQ(a.tensors().size(), b.tensors().size());
    for (const TensorView& tensor : a.tensors()) {
      const TensorView* other = b.find(tensor.name);
      ASSERT_NE(other, nullptr) << tensor.name;
      EXPECT_EQ(other->shape, tensor.shape) << tensor.name;
      EXPECT_TRUE(std::equal(tensor.bytes.begin(), tensor.bytes.end(), other->bytes.begin(),
                             other->bytes.end()))
          << tensor.name;
    }
  }

  TempFolder folder_;
};

TEST_F(on_device, run_gives_the_references_dump) {
  const GoldenCheckpoint checkpoint("orthros_tiny");
  const Words model = {"--model", checkpoint.path(), "--tokens", "5,7,9,11,13,7,100"};
  for (const Words& more :
       {Words{}, Words{"--outputs", "7,1,4,4"}, Words{"--outputs", "all", "--chunk", "2"},
        Words{"--tokens", "3,1", "--outputs", "all"}, Words{"--outputs", "none"},
        Words{"--documents", "0,0,1,1,1,0,0", "--outputs", "6,2,3"},
        Words{"--arch", "swa", "--window", "3", "--outputs", "all"}}) {
    Words words = model;
    words.insert(words.end(), more.begin(), more.end());
    expect_same_dump(words);
  }
}

TEST_F(on_device, several_ranks_on_whatever_gpus_there_are_give_the_references_dump) {
  const Words ranks = {"--gpus", "3", "--transport", "host"};
  const GoldenCheckpoint orthros("orthros_tiny");
  expect_same_dump({"--model", orthros.path(), "--tokens", "5,7,9,11,13,7,100", "--outputs", "all"},
                   ranks);
  const GoldenCheckpoint transformer("qwen3_tiny");
  const Words full = {"--model",           transformer.path(), "--tokens",
                      "5,7,9,11,13,7,100", "--outputs",        "7,1,4"};
  expect_same_dump(full, ranks);
  Words windowed = full;
  windowed.insert(windowed.end(), {"--arch", "swa", "--window", "3"});
  expect_same_dump(windowed, ranks);
}

TEST_F(on_device, the_quick_check_passes_on_several_ranks) {
  for (const Words& kv : {Words{}, Words{"--kv", "fp8", "--only", "shards-ragged"},
                          Words{"--kv", "fp8", "--only", "rounds-transformer"}}) {
    Words words = {"check", "--gpus", "3", "--transport", "host"};
    words.insert(words.end(), kv.begin(), kv.end());
    EXPECT_EQ(run_cuda(words).status, 0);
  }
}

TEST_F(on_device, random_weights_are_those_of_the_reference) {
  const GoldenCheckpoint checkpoint("llama3_tiny");
  expect_same_dump({"--random", checkpoint.path(), "--seed", "12", "--arch", "orthros", "--window",
                    "3", "--tokens", "5,7,9,11,13,7,100"});
}

TEST_F(on_device, generation_from_a_converted_checkpoint_is_the_references_token_for_token) {
  const GoldenCheckpoint checkpoint("qwen3_tiny");
  const std::string converted = (folder_ / "converted").string();
  ref_text({"convert", "--model", checkpoint.path(), "--arch", "orthros", "--window", "4", "--out",
            converted});
  Words words = {"generate", "--model", converted, "--tokens", "5,7,9", "--max-tokens", "40"};
  const auto actual = cuda_json(words);
  words.insert(words.end(), {"--scalar", "hopper"});
  const auto expected = ref_json(words);
  EXPECT_EQ(actual["generated"], expected["generated"]);
  EXPECT_EQ(actual["finish_reason"], expected["finish_reason"]);
}

TEST_F(on_device, prompts_together_go_on_as_each_alone) {
  const GoldenCheckpoint checkpoint("mistral_swa4_tiny");  // its eos is 2
  Words both = {"generate", "--model", checkpoint.path(), "--max-tokens", "20"};
  std::vector<nlohmann::json> alone;
  for (const char* prompt : {"5,7", "9,11,13"}) {
    alone.push_back(cuda_json(
        {"generate", "--model", checkpoint.path(), "--max-tokens", "20", "--tokens", prompt}));
    both.insert(both.end(), {"--tokens", prompt});
  }
  const auto together = cuda_json(both);
  for (size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(together["sequences"][i]["generated"], alone[i]["generated"]);
    EXPECT_EQ(together["sequences"][i]["finish_reason"], alone[i]["finish_reason"]);
  }
}

TEST_F(on_device, the_quick_check_passes) {
  const auto json = cuda_json({"check", "--suite", "quick"});
  EXPECT_EQ(json["failed"], 0) << json["failures"].dump();
  EXPECT_GT(json["compared"], 0);
  EXPECT_EQ(json["compared"], json["equal"]);
}

TEST_F(on_device, the_quick_check_passes_over_fp8_caches_and_states_their_error) {
  const auto json = cuda_json({"check", "--suite", "quick", "--kv", "fp8"});
  EXPECT_EQ(json["failed"], 0) << json["failures"].dump();
  EXPECT_GT(json["compared"], 0);
  EXPECT_EQ(json["compared"], json["equal"]);
  EXPECT_EQ(json["fp8_against_bf16"].size(), json["cases"].size());
}

TEST_F(on_device, scales_of_a_calibration_change_what_fp8_caches_hold) {
  const GoldenCheckpoint checkpoint("orthros_tiny");
  const auto dump = [&](const std::string& name, const Words& more) {
    Words words = {"run",      "--model", checkpoint.path(),        "--tokens",
                   "5,7,9,11", "--dump",  (folder_ / name).string()};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(run_cuda(words).status, 0);
    const Safetensors file((folder_ / name).string());
    const TensorView* values = file.find("values.0");
    EXPECT_NE(values, nullptr);
    return std::vector<std::byte>(values->bytes.begin(), values->bytes.end());
  };
  const auto plain = dump("plain", {"--kv", "fp8"});
  EXPECT_NE(plain, dump("bf16", {}));
  EXPECT_NE(plain, dump("fitted", {"--kv", "fp8", "--kv-calibration", "5,7,9"}));
}

TEST_F(on_device, each_fault_is_found_and_an_element_named) {
  if (!ORTHROS_HAS_FAULTS) GTEST_SKIP() << "built without -DORTHROS_CUDA_FAULTS=ON";
  for (const char* fault : {"window_off_by_one", "copy_writes_cache", "index_as_position",
                            "dropped_split", "stale_graph_length"}) {
    const auto json = cuda_json({"check", "--fault", fault}, 1);
    EXPECT_GT(json["failed"], 0) << fault;
    ASSERT_TRUE(json["first_difference"].is_object()) << fault;
    EXPECT_TRUE(json["first_difference"]["position"].is_number()) << fault;
    EXPECT_EQ(json["fault"], fault);
  }
}

TEST_F(on_device, another_heads_scale_is_found) {
  if (!ORTHROS_HAS_FAULTS) GTEST_SKIP() << "built without -DORTHROS_CUDA_FAULTS=ON";
  const auto json = cuda_json({"check", "--kv", "fp8", "--fault", "neighbour_scale"}, 1);
  EXPECT_GT(json["failed"], 0);
  ASSERT_TRUE(json["first_difference"].is_object());
  EXPECT_TRUE(json["first_difference"]["position"].is_number());
}

}  // namespace
}  // namespace orthros::cuda
