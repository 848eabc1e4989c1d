// Tests of `orthros-ref describe`, `--help` and `--version`.
#include <gtest/gtest.h>

#include "reference/spec/config.hpp"
#include "reference/spec/tensor_table.hpp"
#include "reference/weights/safetensors_writer.hpp"
#include "tests/reference/cli/checkpoints.hpp"
#include "tests/reference/cli/program_run.hpp"

namespace orthros {
namespace {

TEST(describe_verb, a_preset_by_name) {
  const auto json = ref_json({"describe", "--model", "qwen3-8b"});
  EXPECT_EQ(json["model"], "qwen3-8b");
  EXPECT_EQ(json["arch"], "transformer");
  EXPECT_TRUE(json["window"].is_null());
  EXPECT_EQ(json["layers"], 36);
  EXPECT_EQ(json["parameters"], 8190735360);  // published as 8.19 billion
  EXPECT_EQ(json["kv_bytes_per_token"], 147456);
  EXPECT_EQ(json["state_bytes"], 0);
  EXPECT_EQ(json["eos"], nlohmann::json({151645}));
  EXPECT_EQ(json["dtype"], "BF16");
  EXPECT_TRUE(json["tensors"].is_null());
}

TEST(describe_verb, an_architecture_made_of_it) {
  const auto json =
      ref_json({"describe", "--model", "qwen3-8b", "--arch", "orthros", "--window", "256"});
  EXPECT_EQ(json["arch"], "orthros");
  EXPECT_EQ(json["window"], 256);
  EXPECT_EQ(json["streams"], "dual");
  EXPECT_EQ(json["parameters"], 8190735360 + 36 * 4 * 32 * 128);  // scale-offset
  EXPECT_EQ(json["kv_bytes_per_token"], 147456);                  // windows drop nothing
}

TEST(describe_verb, a_hybrid_has_states_and_layers_of_two_kinds) {
  const auto json = ref_json({"describe", "--model", "qwen3.5-9b"});
  EXPECT_EQ(json["kv_bytes_per_token"], 32 * 1024);
  EXPECT_EQ(json["state_bytes"], 24 * 2 * 1024 * 1024);
  EXPECT_EQ(json["conv_bytes"], 24 * 48 * 1024);
  ASSERT_EQ(json["layer_kinds"].size(), 2U);
  EXPECT_EQ(json["layer_kinds"][1]["layers"], nlohmann::json({3, 7, 11, 15, 19, 23, 27, 31}));
}

TEST(describe_verb, every_preset_and_text_for_people) {
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(ORTHROS_SCENARIOS) / "models")) {
    const std::string name = entry.path().stem().string();
    const std::string text = ref_text({"describe", "--model", name});
    EXPECT_EQ(text.rfind("model    " + name, 0), 0U) << text;
    EXPECT_NE(text.find("no checkpoint here"), std::string::npos) << text;
  }
}

TEST(describe_verb, a_checkpoint_by_folder_config_or_weights_lists_its_tensors) {
  const GoldenCheckpoint checkpoint("orthros_tiny");
  for (const char* file : {"", "/config.json", "/model.safetensors"}) {
    const auto json = ref_json({"describe", "--model", checkpoint.path() + file});
    EXPECT_EQ(json["tensors"]["expected"], 48);
    EXPECT_EQ(json["tensors"]["present"], 48);
    EXPECT_EQ(json["tensors"]["missing"], nlohmann::json::array());
    EXPECT_EQ(json["tensors"]["unexpected"], nlohmann::json::array());
    EXPECT_EQ(json["tensors"]["dtypes"], nlohmann::json({"F32"}));
  }
}

TEST(describe_verb, missing_unfit_and_unused_tensors_are_named) {
  const GoldenCheckpoint checkpoint("qwen3_tiny");
  const auto orthros = ref_json({"describe", "--model", checkpoint.path(), "--arch", "orthros"});
  EXPECT_EQ(orthros["tensors"]["missing"].size(), 12U);
  EXPECT_EQ(orthros["tensors"]["missing"][0], "model.layers.0.self_attn.q_scale");
  nlohmann::json config = checkpoint.golden()["config"];
  config["num_hidden_layers"] = 2;
  config.erase("layer_types");
  config["vocab_size"] = 100;
  write_file(checkpoint.folder() / "config.json", config.dump());
  const auto cut = ref_json({"describe", "--model", checkpoint.path()});
  EXPECT_EQ(cut["tensors"]["unexpected"].size(), 11U);  // the third layer's
  EXPECT_EQ(cut["tensors"]["unfit"].size(), 2U);        // embeddings and head
}

TEST(describe_verb, a_folder_with_a_config_alone_has_no_tensors) {
  const TempFolder folder;
  write_file(folder / "config.json", golden_json("llama3_tiny")["config"].dump());
  EXPECT_TRUE(ref_json({"describe", "--model", folder.path().string()})["tensors"].is_null());
}

// A file of the size of an 8B model's, without its bytes: describing it reads none of them.
TEST(describe_verb, an_8b_checkpoint_is_described_from_its_header) {
  const TempFolder folder;
  const auto preset = std::filesystem::path(ORTHROS_SCENARIOS) / "models" / "qwen3-8b.json";
  write_file(folder / "config.json", read_file(preset));
  std::string header = "{";
  int64_t offset = 0;
  for (const TensorInfo& tensor : tensor_table(load_spec(preset))) {
    std::string shape;
    for (const int64_t extent : tensor.shape) {
      shape.append(shape.empty() ? "" : ",").append(std::to_string(extent));
    }
    const int64_t stop = offset + 2 * tensor.elements();
    header += (offset == 0 ? "\"" : ",\"") + tensor.name + R"(":{"dtype":"BF16","shape":[)" +
              shape + "],\"data_offsets\":[" + std::to_string(offset) + "," + std::to_string(stop) +
              "]}";
    offset = stop;
  }
  const std::string head = file_of(header + "}");
  write_file(folder / "model.safetensors", head);
  std::error_code error;
  std::filesystem::resize_file(folder / "model.safetensors",
                               head.size() + static_cast<size_t>(offset), error);
  if (error) GTEST_SKIP() << "no sparse files here: " << error.message();
  const auto json = ref_json({"describe", "--model", folder.path().string()});
  EXPECT_EQ(json["tensors"]["present"], 399);
  EXPECT_EQ(json["tensors"]["bytes"], 2 * 8190735360);
}

TEST(help, every_verb_explains_itself_with_an_example) {
  for (const char* verb : {"describe", "run", "generate", "loss", "convert", "golden"}) {
    const std::string text = ref_text({verb, "--help"});
    EXPECT_EQ(text.rfind("usage: orthros-ref ", 0), 0U) << text;
    EXPECT_NE(text.find("\nexamples\n  orthros-ref " + std::string(verb)), std::string::npos)
        << text;
    EXPECT_EQ(ref_text({"help", verb}), text);
    EXPECT_NE(ref_text({"--help"}).find(std::string("\n  ") + verb + " "), std::string::npos);
  }
}

TEST(help, the_version_is_one_line) {
  const std::string text = ref_text({"--version"});
  EXPECT_EQ(text.rfind("orthros-ref ", 0), 0U);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

}  // namespace
}  // namespace orthros
