// Tests of `orthros-ref convert`.
#include <gtest/gtest.h>

#include <map>

#include "reference/weights/checkpoint_files.hpp"
#include "reference/weights/safetensors_writer.hpp"
#include "tests/reference/cli/checkpoints.hpp"
#include "tests/reference/cli/program_run.hpp"

namespace orthros {
namespace {

using Words = std::vector<std::string>;

constexpr const char* tokens = "5,7,9,11,13,7,100";

nlohmann::json logits_of(const std::string& model, const Words& more = {}) {
  Words words = {"run", "--model", model, "--tokens", tokens, "--outputs", "all"};
  words.insert(words.end(), more.begin(), more.end());
  return ref_json(words)["logits"];
}

std::string bytes_of(const TensorView& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

// Every tensor of `source` stands in `copy` with its type, shape and bytes.
void expect_copied(const std::string& source, const std::string& copy) {
  const TensorSource from(source);
  const TensorSource to(copy);
  for (const TensorView* tensor : from.tensors()) {
    const TensorView* copied = to.find(tensor->name);
    ASSERT_NE(copied, nullptr) << tensor->name;
    EXPECT_EQ(copied->dtype, tensor->dtype) << tensor->name;
    EXPECT_EQ(copied->shape, tensor->shape) << tensor->name;
    EXPECT_EQ(bytes_of(*copied), bytes_of(*tensor)) << tensor->name;
  }
}

// Takes a checkpoint's one file apart into two shards with an index.
void shard(const TempFolder& folder) {
  {
    const Safetensors whole(folder / "model.safetensors");
    std::map<std::string, std::vector<TensorToWrite>> shards;
    nlohmann::json weight_map;
    for (size_t i = 0; i < whole.tensors().size(); ++i) {
      const TensorView& tensor = whole.tensors()[i];
      const std::string name = i % 3 == 0 ? "model-a.safetensors" : "model-b.safetensors";
      shards[name].push_back(copy_of(tensor));
      weight_map[tensor.name] = name;
    }
    for (const auto& [name, tensors] : shards) {
      write_safetensors(folder / name, tensors, {{"format", "pt"}, {"part", name}});
    }
    write_file(
        folder / "model.safetensors.index.json",
        nlohmann::json({{"metadata", {{"total_size", 1}}}, {"weight_map", weight_map}}).dump());
  }
  std::filesystem::remove(folder / "model.safetensors");
}

class convert_verb : public testing::Test {
 protected:
  std::string out(std::string_view name = "out") const { return (folder_ / name).string(); }
  TempFolder folder_;
};

TEST_F(convert_verb, a_transformer_becomes_orthros_with_the_logits_of_no_scale_offset) {
  for (const char* name : {"qwen3_tiny", "llama3_tiny", "mistral_swa4_tiny"}) {
    const GoldenCheckpoint checkpoint(name);
    ref_text({"convert", "--model", checkpoint.path(), "--out", out(name), "--window", "3"});
    const auto json = ref_json({"describe", "--model", out(name)});
    EXPECT_EQ(json["arch"], "orthros");
    EXPECT_EQ(json["window"], 3);
    EXPECT_EQ(json["tensors"]["present"], json["tensors"]["expected"]);
    EXPECT_EQ(logits_of(out(name)),
              logits_of(checkpoint.path(), {"--arch", "orthros-noso", "--window", "3"}));
    EXPECT_EQ(logits_of(out(name), {"--arch", "transformer"}),
              logits_of(checkpoint.path(), {"--arch", "transformer"}));
    expect_copied(checkpoint.path(), out(name));
  }
}

TEST_F(convert_verb, a_hybrid_becomes_orthros_h) {
  const GoldenCheckpoint checkpoint("qwen3_5_text_tiny");
  const auto report = ref_json({"convert", "--model", checkpoint.path(), "--out", out(), "--arch",
                                "orthros-h", "--window", "3"});
  EXPECT_EQ(report["added"].size(), 4U);  // of the one full layer
  expect_copied(checkpoint.path(), out());
  EXPECT_EQ(ref_json({"describe", "--model", out()})["arch"], "orthros-h");
  EXPECT_EQ(logits_of(out(), {"--arch", "linear-hybrid"}), logits_of(checkpoint.path()));
}

TEST_F(convert_verb, the_way_back_gives_the_source_bit_for_bit) {
  const GoldenCheckpoint checkpoint("qwen3_tiny");
  ref_text({"convert", "--model", checkpoint.path(), "--out", out("there")});
  const auto report =
      ref_json({"convert", "--model", out("there"), "--out", out("back"), "--arch", "transformer"});
  EXPECT_EQ(report["left_out"].size(), 12U);
  EXPECT_EQ(report["added"], nlohmann::json::array());
  expect_copied(checkpoint.path(), out("back"));
  EXPECT_EQ(TensorSource(out("back")).tensors().size(), 36U);
  EXPECT_EQ(logits_of(out("back")), logits_of(checkpoint.path()));
}

TEST_F(convert_verb, a_trained_scale_offset_is_kept) {
  const GoldenCheckpoint checkpoint("orthros_tiny");
  const auto report =
      ref_json({"convert", "--model", checkpoint.path(), "--out", out(), "--window", "2"});
  EXPECT_EQ(report["added"], nlohmann::json::array());
  expect_copied(checkpoint.path(), out());
  EXPECT_EQ(logits_of(out()), logits_of(checkpoint.path(), {"--window", "2"}));
}

TEST_F(convert_verb, the_identity_has_the_dtype_of_the_source) {
  // A BF16 checkpoint of our own making.
  write_file(folder_ / "config.json", golden_json("qwen3_tiny")["config"].dump());
  ref_text(
      {"golden", "--random", out("config.json"), "--arch", "transformer", "--out", out("bf16")});
  ref_text({"convert", "--model", out("bf16"), "--out", out()});
  const TensorSource converted(out());
  for (const char* layer : {"0", "1", "2"}) {
    const std::string at = std::string("model.layers.") + layer + ".self_attn.";
    for (const char* name : {"q_scale", "q_scale_output", "q_offset", "q_offset_output"}) {
      const TensorView* tensor = converted.find(at + name);
      ASSERT_NE(tensor, nullptr);
      EXPECT_EQ(tensor->dtype, TensorDtype::bf16);
      EXPECT_EQ(tensor->shape, (std::vector<int64_t>{4, 16}));
      const double value = std::string_view(name).starts_with("q_scale") ? 1.0 : 0.0;
      EXPECT_EQ(values_of(*tensor), std::vector<double>(64, value));
    }
  }
}

TEST_F(convert_verb, shards_stay_and_the_index_names_every_tensor) {
  const GoldenCheckpoint checkpoint("qwen3_tiny");
  const auto expected = logits_of(checkpoint.path(), {"--arch", "orthros-noso"});
  shard(checkpoint.folder());
  write_file(checkpoint.folder() / "stray.safetensors", "not even a header");
  ref_text({"convert", "--model", checkpoint.path(), "--out", out()});
  const auto index = nlohmann::json::parse(read_file(folder_ / "out/model.safetensors.index.json"));
  EXPECT_EQ(index["weight_map"].size(), 48U);
  int64_t total = 0;
  for (const char* name : {"model-a.safetensors", "model-b.safetensors"}) {
    const Safetensors file(folder_ / ("out/" + std::string(name)));
    EXPECT_EQ(file.metadata().at("part"), name);
    for (const TensorView& tensor : file.tensors()) {
      EXPECT_EQ(index["weight_map"][tensor.name], name);
      total += static_cast<int64_t>(tensor.bytes.size());
    }
  }
  EXPECT_EQ(index["metadata"]["total_size"], total);
  expect_copied(checkpoint.path(), out());
  EXPECT_EQ(logits_of(out()), expected);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/stray.safetensors"));
}

TEST_F(convert_verb, a_multimodal_checkpoint_keeps_its_names_and_its_other_tensors) {
  const GoldenCheckpoint checkpoint("qwen3_5_text_tiny");
  const auto path = checkpoint.folder() / "model.safetensors";
  {
    const Safetensors text(path);
    std::vector<TensorToWrite> tensors;
    for (const TensorView& tensor : text.tensors()) {
      tensors.push_back(copy_of(tensor));
      std::string& name = tensors.back().name;
      if (name.starts_with("model.")) name = "model.language_model." + name.substr(6);
    }
    const std::vector<double> pixels = {1.0, 2.0};
    tensors.push_back(tensor_of("model.visual.patch", {2}, pixels));
    write_safetensors(checkpoint.folder() / "nested.safetensors", tensors);
  }
  std::filesystem::rename(checkpoint.folder() / "nested.safetensors", path);
  nlohmann::json config = checkpoint.golden()["config"];
  write_file(checkpoint.folder() / "config.json",
             nlohmann::json({{"model_type", "qwen3_5"}, {"text_config", config}}).dump());
  ref_text({"convert", "--model", checkpoint.path(), "--out", out(), "--arch", "orthros-h"});
  expect_copied(checkpoint.path(), out());
  EXPECT_NE(TensorSource(out()).find("model.language_model.layers.3.self_attn.q_scale"), nullptr);
  EXPECT_EQ(logits_of(out(), {"--arch", "linear-hybrid"}), logits_of(checkpoint.path()));
}

TEST_F(convert_verb, generation_config_and_tokenizer_travel_and_strangers_do_not) {
  const GoldenCheckpoint checkpoint("qwen3_tiny");
  write_file(checkpoint.folder() / "generation_config.json", R"({"eos_token_id": [7, 8]})");
  write_file(checkpoint.folder() / "tokenizer.json", "{\"any\": 1}");
  write_file(checkpoint.folder() / "notes.txt", "private");
  ref_text({"convert", "--model", checkpoint.path(), "--out", out() + "/"});
  EXPECT_EQ(read_file(folder_ / "out/generation_config.json"), R"({"eos_token_id": [7, 8]})");
  EXPECT_EQ(read_file(folder_ / "out/tokenizer.json"), "{\"any\": 1}");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/notes.txt"));
  EXPECT_EQ(ref_json({"describe", "--model", out()})["eos"], nlohmann::json({7, 8}));
}

TEST_F(convert_verb, an_empty_folder_may_stand_there_and_a_full_one_is_left_as_it_is) {
  const GoldenCheckpoint checkpoint("qwen3_tiny");
  std::filesystem::create_directory(folder_ / "out");
  ref_text({"convert", "--model", checkpoint.path(), "--out", out()});
  const std::string config = read_file(folder_ / "out/config.json");
  ref_refusal({"convert", "--model", checkpoint.path(), "--out", out(), "--window", "5"});
  EXPECT_EQ(read_file(folder_ / "out/config.json"), config);
  EXPECT_EQ(folder_.names(), Words{"out"});
}

TEST_F(convert_verb, weights_that_are_absent_are_named_and_nothing_is_written) {
  const GoldenCheckpoint checkpoint("qwen3_tiny");
  for (const auto& [arch, tensor] : {std::pair("gdn", "layers.0.linear_attn.in_proj_qkv.weight"),
                                     std::pair("yoco", "model.shared_kv.norm.weight"),
                                     std::pair("orthros-h", "linear_attn.in_proj_qkv.weight")}) {
    const std::string line =
        ref_refusal({"convert", "--model", checkpoint.path(), "--out", out(), "--arch", arch});
    EXPECT_NE(line.find(tensor), std::string::npos) << line;
    EXPECT_EQ(folder_.names(), Words{});
  }
}

TEST_F(convert_verb, a_config_that_claims_scale_offset_without_its_tensors_is_refused) {
  const GoldenCheckpoint checkpoint("qwen3_tiny");
  nlohmann::json config = checkpoint.golden()["config"];
  config["model_type"] = "orthros";
  config["sliding_window"] = 4;
  config["scale_offset"] = true;
  write_file(checkpoint.folder() / "config.json", config.dump());
  const std::string line = ref_refusal({"convert", "--model", checkpoint.path(), "--out", out()});
  EXPECT_NE(line.find("q_scale"), std::string::npos) << line;
  EXPECT_EQ(folder_.names(), Words{});
}

}  // namespace
}  // namespace orthros
