// Names, shapes and counts of weights against checkpoints and published figures.
#include "reference/spec/tensor_table.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "reference/spec/architecture.hpp"
#include "tests/reference/spec/configs.hpp"
#include "tests/reference/weights/file_bytes.hpp"

namespace orthros {
namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;

Shapes shapes_of(const ModelSpec& spec) {
  Shapes shapes;
  for (const TensorInfo& tensor : tensor_table(spec)) {
    EXPECT_TRUE(shapes.emplace(tensor.name, tensor.shape).second) << "twice: " << tensor.name;
  }
  return shapes;
}

// The header of a golden checkpoint, read here by hand: 8 bytes of length, then JSON.
Shapes shapes_in(const std::string& golden) {
  const std::string file = read_file(goldens / (golden + ".safetensors"));
  uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  const Json header = Json::parse(file.substr(8, length));
  Shapes shapes;
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") shapes[name] = entry.at("shape").get<std::vector<int64_t>>();
  }
  return shapes;
}

TEST(tensor_table, names_and_shapes_are_those_of_the_golden_checkpoints) {
  for (const char* golden : golden_names) {
    const Shapes expected = shapes_in(golden);
    EXPECT_GE(expected.size(), 20u) << golden;
    EXPECT_EQ(shapes_of(read(golden_config(golden))), expected) << golden;
  }
}

TEST(tensor_table, parameters_of_the_presets_are_the_published_ones) {
  // In millions. Some figures are rounded and some cut at the fourth digit (1,351.7 is given as
  // 1,352 and 8,190.7 as 8,190), so one unit of that digit is the tolerance.
  const std::pair<const char*, int64_t> published[] = {
      {"qwen3-8b", 8190}, {"llama-3.1-8b", 8030}, {"qwen3.5-9b", 8953},  {"transformer-1.3b", 1364},
      {"swa-1.3b", 1364}, {"gla-1.3b", 1365},     {"retnet-1.3b", 1352}, {"gdn-1.3b", 1387}};
  for (const auto& [preset, millions] : published) {
    const int64_t count = parameter_count(load_model_spec(preset));
    EXPECT_LT(std::abs(count - millions * 1'000'000), 1'000'000) << preset << ' ' << count;
  }
}

// Scale-offset is 4 Hq d weights a layer and nothing else is added.
TEST(tensor_table, orthros_adds_its_scale_offset_and_nothing_else) {
  const ModelSpec qwen = load_model_spec("qwen3-8b");
  const int64_t base = parameter_count(qwen);
  for (const auto& [name, added] : {std::pair{"orthros", 36 * 4 * 32 * 128},
                                    {"orthros-noso", 0},
                                    {"swa", 0},
                                    {"transformer", 0}}) {
    const ModelSpec spec =
        to_architecture(qwen, {.name = name, .window = {}, .scale_offset = {}, .linear = {}});
    EXPECT_EQ(parameter_count(spec) - base, added) << name;
  }
  // Orthros-H has it in its full layers only, and its copies read the base stream's weights.
  const ModelSpec hybrid = load_model_spec("hybrid-27-9");
  const ModelSpec orthros_h = to_architecture(
      hybrid, {.name = "orthros-h", .window = {}, .scale_offset = {}, .linear = {}});
  EXPECT_EQ(parameter_count(orthros_h) - parameter_count(hybrid), 9 * 4 * 32 * 128);
}

TEST(tensor_table, yoco_cross_layers_have_no_k_and_v_of_their_own) {
  const ModelSpec source = read(with(config_of("qwen3"), {{"num_hidden_layers", 4}}));
  const Shapes shapes = shapes_of(
      to_architecture(source, {.name = "yoco", .window = {}, .scale_offset = {}, .linear = {}}));
  for (int layer = 0; layer < 4; ++layer) {
    const std::string at = layer_prefix(layer) + "self_attn.";
    for (const char* own : {"k_proj.weight", "v_proj.weight", "k_norm.weight"}) {
      EXPECT_EQ(shapes.count(at + own), layer < 2 ? 1u : 0u) << at << own;
    }
    for (const char* both : {"q_proj.weight", "o_proj.weight", "q_norm.weight"}) {
      EXPECT_EQ(shapes.count(at + both), 1u) << at << both;
    }
  }
  const std::string shared = shared_kv_prefix;
  EXPECT_EQ(shapes.at(shared + "norm.weight"), std::vector<int64_t>{64});
  EXPECT_EQ(shapes.at(shared + "k_proj.weight"), (std::vector<int64_t>{16, 64}));
  EXPECT_EQ(shapes.at(shared + "v_proj.weight"), (std::vector<int64_t>{16, 64}));
  EXPECT_EQ(shapes.at(shared + "k_norm.weight"), std::vector<int64_t>{8});
}

TEST(tensor_table, tied_embeddings_have_no_head) {
  EXPECT_EQ(shapes_of(read(llama_config())).count("lm_head.weight"), 1u);
  EXPECT_EQ(shapes_of(read(with(llama_config(), {{"tie_word_embeddings", true}})))
                .count("lm_head.weight"),
            0u);
}

// The Llama-3.1-8B linear layers: 2 FLOPs a weight of the layers' matrices, and of the head.
TEST(tensor_table, matrices_of_llama_3_1_8b_make_the_published_flops_per_token) {
  int64_t layers = 0;
  int64_t head = 0;
  for (const TensorInfo& tensor : tensor_table(load_model_spec("llama-3.1-8b"))) {
    if (tensor.role != TensorRole::linear) continue;
    (tensor.name == "lm_head.weight" ? head : layers) += tensor.elements();
  }
  EXPECT_EQ(2 * layers, 13'958'643'712);
  EXPECT_EQ(2 * head, 1'050'673'152);
}

}  // namespace
}  // namespace orthros
