// Tests of `orthros-ref run`.
#include <gtest/gtest.h>

#include <bit>

#include "tests/reference/cli/checkpoints.hpp"
#include "tests/reference/cli/program_run.hpp"

namespace orthros {
namespace {

using Words = std::vector<std::string>;

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Random weights of a small config in a folder of the test's own.
class run_verb : public testing::Test {
 protected:
  run_verb() {
    nlohmann::json config = golden_json("qwen3_tiny")["config"];
    config["num_hidden_layers"] = 4;  // a hybrid of three linear layers and a full one
    config.erase("layer_types");
    write_file(folder_ / "config.json", config.dump());
  }
  Words random(const std::string& arch, const Words& more) const {
    return joined({"run", "--random", (folder_ / "config.json").string(), "--seed", "3", "--arch",
                   arch, "--window", "3"},
                  more);
  }
  std::string file(std::string_view name) const { return (folder_ / name).string(); }
  std::string dump(const std::string& arch, const Words& more) const {
    const std::string path = file("dump.safetensors");
    ref_text(joined(random(arch, more), {"--dump", path}));
    return read_file(path);
  }
  TempFolder folder_;
};

const Words seven_tokens = {"--tokens", "5,7,9,11,13,7,100"};

TEST_F(run_verb, any_chunk_and_thread_count_gives_the_same_dump_bit_for_bit) {
  for (const char* arch : {"orthros", "transformer", "swa", "gdn", "retnet", "gla", "yoco",
                           "yoco-retention", "linear-hybrid", "orthros-h", "orthros-noso"}) {
    const Words words = joined(seven_tokens, {"--outputs", "7,1,4,4"});
    const std::string one_shot = dump(arch, words);
    for (const char* chunk : {"1", "2", "3", "6", "7", "100"}) {
      EXPECT_EQ(dump(arch, joined(words, {"--chunk", chunk})), one_shot) << arch << chunk;
    }
    EXPECT_EQ(dump(arch, joined(words, {"--threads", "3"})), one_shot) << arch;
  }
}

TEST_F(run_verb, any_number_of_shards_gives_the_same_dump_bit_for_bit) {
  std::string tokens;
  for (int t = 0; t < 1300; ++t) tokens += std::to_string(t * 37 % 101) + " ";
  write_file(folder_ / "tokens.txt", tokens);
  for (const auto& [arch, scalar] : {std::pair{"orthros", "hopper"}, {"swa", "double"}}) {
    const Words words = {"--tokens",  std::string("@").append(file("tokens.txt")),
                         "--outputs", "1300,513,1",
                         "--scalar",  scalar};
    const std::string one_shot = dump(arch, words);
    EXPECT_EQ(dump(arch, joined(words, {"--shards", "9"})), one_shot) << arch;
    EXPECT_EQ(dump(arch, joined(words, {"--shards", "2", "--chunk", "100"})), one_shot) << arch;
  }
  EXPECT_EQ(ref_refusal(joined(random("transformer", seven_tokens), {"--shards", "2"})),
            "orthros-ref: " + file("config.json") +
                ": layer 0: expected windowed attention with keys and values of its own, for "
                "shards\n");
}

TEST_F(run_verb, any_chunk_gives_the_same_dump_bit_for_bit_in_every_scalar) {
  for (const char* scalar : {"float", "bf16", "hopper"}) {
    const Words words = joined(seven_tokens, {"--outputs", "all", "--scalar", scalar});
    const std::string one_shot = dump("orthros", words);
    EXPECT_NE(ref_json(random("orthros", words))["logits"],
              ref_json(random("orthros", joined(seven_tokens, {"--outputs", "all"})))["logits"])
        << scalar;
    for (const char* chunk : {"1", "3"}) {
      EXPECT_EQ(dump("orthros", joined(words, {"--chunk", chunk})), one_shot) << scalar << chunk;
    }
  }
}

TEST_F(run_verb, the_dump_of_recurrent_layers_has_states_and_conv_inputs_of_documented_shapes) {
  ref_text(joined(random("orthros-h", seven_tokens), {"--dump", file("dump.safetensors")}));
  const Safetensors dump(file("dump.safetensors"));
  // Heads of the full layer are 4 x 16: GDN with Hv = 4, Hk = 2, K = V = 16, so 2 x 32 + 64
  // channels.
  for (const char* layer : {"0", "1", "2"}) {
    f64_tensor(dump, std::string("states.") + layer, {4, 16, 16});
    f64_tensor(dump, std::string("conv_inputs.") + layer, {3, 128});
  }
  f64_tensor(dump, "logits", {1, 101});
  f64_tensor(dump, "keys.3", {7, 32});
  f64_tensor(dump, "values.3", {7, 32});
  EXPECT_EQ(dump.tensors().size(), 9U);
}

TEST_F(run_verb, the_dump_of_a_decoder_decoder_has_the_shared_pair_once) {
  ref_text(joined(random("yoco", seven_tokens), {"--dump", file("dump.safetensors")}));
  const Safetensors dump(file("dump.safetensors"));
  for (const char* name : {"keys.0", "values.0", "keys.1", "values.1"}) {
    f64_tensor(dump, name, {7, 32});
  }
  f64_tensor(dump, "keys.shared", {7, 32});
  f64_tensor(dump, "values.shared", {7, 32});
  EXPECT_EQ(dump.tensors().size(), 7U);
}

TEST_F(run_verb, json_logits_have_the_bits_of_the_dump) {
  for (const char* scalar : {"double", "float", "bf16", "hopper"}) {
    const auto json =
        ref_json(joined(random("orthros", seven_tokens), {"--outputs", "all", "--scalar", scalar,
                                                          "--dump", file("dump.safetensors")}));
    EXPECT_EQ(json["scalar"], scalar);
    const Safetensors dump(file("dump.safetensors"));
    const std::vector<double> logits = f64_tensor(dump, "logits", {7, 101});
    size_t at = 0;
    for (const auto& row : json["logits"]) {
      for (const double value : row) {
        ASSERT_EQ(std::bit_cast<uint64_t>(value), std::bit_cast<uint64_t>(logits[at++]));
      }
    }
    EXPECT_EQ(at, logits.size());
  }
}

TEST_F(run_verb, json_says_what_was_understood) {
  const auto json = ref_json(random("orthros", seven_tokens));
  EXPECT_EQ(json["arch"], "orthros");
  EXPECT_EQ(json["window"], 3);
  EXPECT_EQ(json["scalar"], "double");
  EXPECT_EQ(json["seed"], 3);
  EXPECT_EQ(json["tokens"], nlohmann::json({5, 7, 9, 11, 13, 7, 100}));
  EXPECT_EQ(json["outputs"], nlohmann::json({7}));  // the last by default
  EXPECT_EQ(json["logits"].size(), 1U);
  EXPECT_EQ(json["logits"][0].size(), 101U);
}

TEST_F(run_verb, outputs_choose_rows_in_the_order_asked) {
  const auto rows = [&](const char* outputs) {
    return ref_json(joined(random("orthros", seven_tokens), {"--outputs", outputs}))["logits"];
  };
  const auto all = rows("all");
  ASSERT_EQ(all.size(), 7U);
  EXPECT_EQ(rows("last"), nlohmann::json({all[6]}));
  EXPECT_EQ(rows("none"), nlohmann::json::array());
  EXPECT_EQ(rows("3,1,3"), nlohmann::json({all[2], all[0], all[2]}));
  EXPECT_EQ(rows("[2, 7]"), nlohmann::json({all[1], all[6]}));
}

TEST_F(run_verb, tokens_come_from_files_in_every_way_that_ids_are_written) {
  const auto logits = ref_json(random("orthros", {"--tokens", "5,7,9"}))["logits"];
  for (const char* text : {"5,7,9", "5 7\t9\n", "5\r\n7\r\n9", "[5, 7, 9]\n", "  5,\n7 , 9"}) {
    write_file(folder_ / "ids", text);
    const auto json =
        ref_json(random("orthros", {"--tokens", std::string("@").append(file("ids"))}));
    EXPECT_EQ(json["tokens"], nlohmann::json({5, 7, 9})) << text;
    EXPECT_EQ(json["logits"], logits) << text;
  }
}

TEST_F(run_verb, each_sequence_of_a_batch_equals_its_own_run) {
  const Words sequences = {"5,7,9,11,13", "1", "100,3,3"};
  for (const char* chunk : {"2", "9"}) {
    Words batch = {"--outputs", "all", "--chunk", chunk, "--dump", file("batch.safetensors")};
    for (const std::string& tokens : sequences) batch = joined(batch, {"--tokens", tokens});
    const auto json = ref_json(random("orthros", batch));
    const Safetensors together(file("batch.safetensors"));
    ASSERT_EQ(json["sequences"].size(), 3U);
    for (size_t i = 0; i < sequences.size(); ++i) {
      const auto alone = ref_json(random(
          "orthros", {"--tokens", sequences[i], "--outputs", "all", "--dump", file("alone")}));
      EXPECT_EQ(json["sequences"][i]["tokens"], alone["tokens"]);
      EXPECT_EQ(json["sequences"][i]["logits"], alone["logits"]);
      const Safetensors one(file("alone"));
      for (const TensorView& tensor : one.tensors()) {
        std::string name = "sequence.";
        name.append(std::to_string(i)).append(".").append(tensor.name);
        EXPECT_EQ(f64_tensor(together, name, tensor.shape), values_of(tensor)) << name;
      }
    }
  }
}

TEST_F(run_verb, outputs_may_be_given_for_each_sequence) {
  const auto json = ref_json(random("orthros", {"--tokens", "1,2,3", "--outputs", "2,3", "--tokens",
                                                "4,5", "--outputs", "none"}));
  EXPECT_EQ(json["sequences"][0]["outputs"], nlohmann::json({2, 3}));
  EXPECT_EQ(json["sequences"][1]["logits"], nlohmann::json::array());
}

TEST_F(run_verb, a_packed_sequence_equals_its_documents_alone) {
  for (const char* arch : {"orthros", "orthros-h", "yoco"}) {
    const auto logits = [&](const Words& words) {
      return ref_json(joined(random(arch, words), {"--outputs", "all"}))["logits"];
    };
    const auto first = logits({"--tokens", "5,7,9"});
    const auto second = logits({"--tokens", "5,11,13,8"});
    const auto packed =
        logits({"--tokens", "5,7,9,5,11,13,8", "--documents", "4,4,4,1,1,1,1", "--chunk", "2"});
    ASSERT_EQ(packed.size(), 7U);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(packed[i], first[i]) << arch;
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(packed[3 + i], second[i]) << arch;
  }
}

TEST_F(run_verb, a_window_means_nothing_where_there_is_none) {
  for (const char* arch : {"transformer", "gdn", "retnet", "linear-hybrid"}) {
    const auto with = ref_json(random(arch, seven_tokens));
    const auto without = ref_json(joined(
        {"run", "--random", file("config.json"), "--seed", "3", "--arch", arch}, seven_tokens));
    EXPECT_EQ(with, without) << arch;
    EXPECT_TRUE(with["window"].is_null()) << arch;
  }
}

TEST_F(run_verb, a_window_changes_the_model_that_has_one) {
  const auto logits = [&](const char* window) {
    return ref_json(
        joined({"run", "--random", file("config.json"), "--arch", "swa", "--window", window},
               seven_tokens))["logits"];
  };
  EXPECT_NE(logits("2"), logits("3"));
  EXPECT_EQ(logits("7"), logits("1K"));
}

TEST_F(run_verb, chunkwise_recurrence_agrees_with_the_recurrent_form) {
  const auto logits = [&](const Words& words) {
    return ref_json(joined(random("gdn", seven_tokens), words))["logits"][0];
  };
  const auto recurrent = logits({});
  const auto chunkwise = logits({"--form", "chunkwise", "--recurrent-chunk", "3"});
  EXPECT_NE(chunkwise, recurrent);  // another order of the same sums
  for (size_t i = 0; i < recurrent.size(); ++i) {
    // Seven tokens through three layers of well-conditioned sums: some hundred roundings of numbers
    // below 8, each at most 8 x 2^-53, and growth by the layers' gains below 1e3.
    EXPECT_NEAR(chunkwise[i].get<double>(), recurrent[i].get<double>(), 1e-10);
  }
}

TEST_F(run_verb, the_seed_decides_random_weights) {
  const auto logits = [&](const char* seed) {
    return ref_json(
        joined({"run", "--random", file("config.json"), "--seed", seed}, seven_tokens))["logits"];
  };
  EXPECT_EQ(logits("1"), logits("1"));
  EXPECT_NE(logits("1"), logits("18446744073709551615"));
}

TEST_F(run_verb, random_scale_offset_is_not_the_identity) {
  EXPECT_NE(ref_json(random("orthros", seven_tokens))["logits"],
            ref_json(random("orthros-noso", seven_tokens))["logits"]);
}

TEST(run_checkpoint, an_orthros_checkpoint_runs_as_its_transformer) {
  const GoldenCheckpoint checkpoint("orthros_tiny");
  const Words words = {"run", "--model", checkpoint.path(), "--tokens", "5,7,9,11,13"};
  const auto as_transformer = ref_json(joined(words, {"--arch", "transformer"}));
  EXPECT_EQ(as_transformer["arch"], "transformer");
  EXPECT_TRUE(as_transformer["window"].is_null());
  EXPECT_NE(as_transformer["logits"], ref_json(words)["logits"]);
  // Without scale-offset, and with a window past the end, both streams are the Transformer.
  EXPECT_EQ(ref_json(joined(words, {"--arch", "orthros-noso", "--window", "5"}))["logits"],
            as_transformer["logits"]);
}

TEST(run_checkpoint, the_config_decides_without_arch_and_arch_overrides_it) {
  const GoldenCheckpoint checkpoint("mistral_swa4_tiny");
  const Words words = {"run", "--model", checkpoint.path(), "--tokens", "5,7,9,11,13,4"};
  const auto own = ref_json(words);
  EXPECT_EQ(own["arch"], "swa");
  EXPECT_EQ(own["window"], 4);
  EXPECT_EQ(ref_json(joined(words, {"--window", "4"}))["logits"], own["logits"]);
  EXPECT_NE(ref_json(joined(words, {"--window", "3"}))["logits"], own["logits"]);
  EXPECT_NE(ref_json(joined(words, {"--arch", "transformer"}))["logits"], own["logits"]);
}

TEST(run_checkpoint, nan_weights_give_null_in_json_and_nan_for_people) {
  const GoldenCheckpoint checkpoint("qwen3_tiny");
  const auto path = checkpoint.folder() / "model.safetensors";
  std::string bytes = read_file(path);
  {
    const Safetensors file(path);
    const TensorView* norm = file.find("model.norm.weight");
    ASSERT_EQ(norm->dtype, TensorDtype::f32);
    const std::string held(reinterpret_cast<const char*>(norm->bytes.data()), norm->bytes.size());
    const size_t at = bytes.find(held);
    ASSERT_NE(at, std::string::npos);
    const uint32_t nan = 0x7fc00000;
    std::memcpy(bytes.data() + at, &nan, sizeof nan);
  }
  write_file(path, bytes);
  const Words words = {"run", "--model", checkpoint.path(), "--tokens", "5,7"};
  const auto json = ref_json(words);
  ASSERT_EQ(json["logits"][0].size(), 101U);
  for (const auto& logit : json["logits"][0]) EXPECT_TRUE(logit.is_null());
  EXPECT_NE(ref_text(words).find("nan"), std::string::npos);
}

TEST(run_checkpoint, past_the_trained_length_it_warns_on_stderr_only) {
  const GoldenCheckpoint checkpoint("qwen3_tiny");
  nlohmann::json config = checkpoint.golden()["config"];
  config["max_position_embeddings"] = 2;
  write_file(checkpoint.folder() / "config.json", config.dump());
  const ProgramRun run =
      run_ref({"run", "--model", checkpoint.path(), "--tokens", "5,7,9", "--json"});
  EXPECT_EQ(run.status, 0);
  EXPECT_NE(run.err.find("warning: 3 tokens are past"), std::string::npos) << run.err;
  EXPECT_FALSE(nlohmann::json::parse(run.out, nullptr, false).is_discarded());
}

TEST(run_checkpoint, for_people_it_prints_what_was_understood_and_the_largest_logits) {
  const GoldenCheckpoint checkpoint("orthros_tiny");
  const auto row =
      ref_json({"run", "--model", checkpoint.path(), "--tokens", "5,7,9"})["logits"][0];
  const auto best = std::max_element(row.begin(), row.end()) - row.begin();
  const std::string text = ref_text({"run", "--model", checkpoint.path(), "--tokens", "5,7,9"});
  EXPECT_NE(text.find("orthros, window 4; double"), std::string::npos) << text;
  EXPECT_NE(text.find("3: 5 7 9"), std::string::npos) << text;
  const size_t heading = text.find("position 3, after token 9");
  ASSERT_NE(heading, std::string::npos) << text;
  EXPECT_EQ(std::stoll(text.substr(text.find('\n', heading))), best);
}

}  // namespace
}  // namespace orthros
