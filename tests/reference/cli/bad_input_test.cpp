// Tests that bad input of every kind is one line that names it, exit status 2, and nothing written.
#include <gtest/gtest.h>

#include "tests/reference/cli/checkpoints.hpp"
#include "tests/reference/cli/program_run.hpp"

namespace orthros {
namespace {

using Words = std::vector<std::string>;

struct Refused {
  Words words;  // DIR stands for a plain checkpoint, ORTHROS for one with scale-offset, NEW/...
                // for a path in an empty folder
  std::string part;  // of the message
};

class bad_input : public testing::Test {
 protected:
  void expect_refused(const Refused& refused) {
    Words words;
    for (std::string word : refused.words) {
      for (const auto& [name, path] : {std::pair<std::string, std::string>{"DIR", plain_.path()},
                                       {"ORTHROS", orthros_.path()},
                                       {"NEW", new_.path().string()},
                                       {"FILES", files_.path().string()}}) {
        if (const size_t at = word.find(name); at != std::string::npos) {
          word.replace(at, name.size(), path);
        }
      }
      words.push_back(word);
    }
    const std::string line = ref_refusal(words);
    EXPECT_NE(line.find(refused.part), std::string::npos) << line;
    EXPECT_EQ(new_.names(), Words{}) << line;
  }
  void expect_run_refused(const Words& more, const std::string& part) {
    Words words = {"run", "--model", "DIR", "--dump", "NEW/dump.safetensors"};
    words.insert(words.end(), more.begin(), more.end());
    expect_refused({words, part});
  }

  GoldenCheckpoint plain_{"qwen3_tiny"};
  GoldenCheckpoint orthros_{"orthros_tiny"};
  TempFolder new_;
  TempFolder files_;
};

TEST_F(bad_input, verbs_and_options) {
  expect_refused({{}, "verb: expected"});
  expect_refused({{"frobnicate"}, "got 'frobnicate'"});
  expect_refused({{"--frobnicate"}, "got '--frobnicate'"});
  expect_refused({{"run", "--frobnicate"}, "--frobnicate: expected an option"});
  expect_refused({{"run", "--mod", "DIR", "--tokens", "1"}, "--mod: expected an option"});
  expect_refused({{"run", "--model"}, "--model: expected a value"});
  expect_refused({{"run", "--json=1", "--model", "DIR"}, "--json: expected a value where"});
  expect_refused({{"run", "--model", "DIR", "--model", "DIR"}, "--model: expected once"});
  expect_refused({{"run", "DIR"}, "options: expected --name value"});
  expect_refused({{"run", "--model", "DIR"}, "--tokens: expected a value"});
  expect_refused({{"generate", "--model", "DIR"}, "--tokens: expected a value"});
  expect_refused({{"describe"}, "--model: expected a value"});
  expect_refused({{"convert", "--model", "DIR"}, "--out: expected a value"});
}

TEST_F(bad_input, models) {
  expect_refused({{"run", "--tokens", "1"}, "expected one of --model and --random"});
  expect_refused({{"run", "--model", "DIR", "--random", "qwen3-8b", "--tokens", "1"},
                  "expected one of --model and --random"});
  expect_refused({{"run", "--model", "NEW/none", "--tokens", "1"}, "none: expected a checkpoint"});
  expect_refused({{"run", "--model", "NEW", "--tokens", "1"}, "config.json"});
  expect_refused({{"run", "--model", "qwen3-8b", "--tokens", "1"}, "--random"});
  expect_refused({{"run", "--random", "qwen3-9b", "--tokens", "1"}, "qwen3-8b"});
  expect_refused({{"run", "--random", "NEW/none.json", "--tokens", "1"}, "none.json"});
  expect_refused({{"describe", "--model", "no-such-preset"}, "llama-3.1-8b"});
  write_file(files_ / "config.json", R"({"model_type": "bert"})");
  expect_refused({{"describe", "--model", "FILES"}, "model_type: expected one of"});
  write_file(files_ / "config.json", "{");
  expect_refused({{"run", "--model", "FILES", "--tokens", "1"}, "config.json"});
  write_file(files_ / "config.json", plain_.golden()["config"].dump());
  expect_refused({{"run", "--model", "FILES", "--tokens", "1"}, "model.safetensors"});
  write_file(files_ / "model.safetensors", "short");
  expect_refused({{"run", "--model", "FILES", "--tokens", "1"}, "model.safetensors"});
  expect_refused({{"describe", "--model", "FILES"}, "model.safetensors"});
}

TEST_F(bad_input, seeds) {
  for (const char* seed : {"-1", "x", "1k", "18446744073709551616", "1.5"}) {
    expect_refused(
        {{"run", "--random", "DIR", "--seed", seed, "--tokens", "1"}, "--seed: expected"});
  }
  expect_run_refused({"--tokens", "1", "--seed", "1"}, "--seed: expected only beside --random");
}

TEST_F(bad_input, architectures_and_windows) {
  expect_run_refused({"--tokens", "1", "--arch", "mamba"}, "--arch: expected one of transformer");
  expect_run_refused({"--tokens", "1", "--arch", "gdn"},
                     "model.layers.0.linear_attn.in_proj_qkv.weight");
  expect_run_refused({"--tokens", "1", "--arch", "yoco"}, "model.shared_kv.norm.weight");
  expect_run_refused({"--tokens", "1", "--arch", "orthros"},
                     "model.layers.0.self_attn.q_scale: expected");
  expect_run_refused({"--tokens", "1", "--arch", "orthros"}, "orthros-ref convert");
  expect_run_refused({"--tokens", "1", "--arch", "orthros"}, "--arch orthros-noso");
  for (const char* window : {"0", "-1", "x", "3000000000", "1.5", "99999999999999999999"}) {
    expect_run_refused({"--tokens", "1", "--arch", "swa", "--window", window}, "--window");
    expect_run_refused({"--tokens", "1", "--window", window}, "--window");
  }
}

TEST_F(bad_input, tokens) {
  expect_run_refused({"--tokens", "101"}, "--tokens: expected token ids from 0 to 100, got '101'");
  for (const char* text : {"-1",
                           "",
                           " ",
                           ",",
                           "1,,2",
                           "1,2,",
                           ",1",
                           "1;2",
                           "0x1",
                           "1.0",
                           "1e1",
                           "+1",
                           "9223372036854775808",
                           "99999999999999999999999",
                           "[1,2",
                           "[1 2]",
                           "[[1]]",
                           "[]",
                           "[1],2",
                           "1]"}) {
    expect_run_refused({"--tokens=" + std::string(text)}, "");
  }
  expect_run_refused({"--tokens", "@NEW/none"}, "none: expected a readable file");
  expect_run_refused({"--tokens", "@NEW"}, "expected a readable file");
  write_file(files_ / "ids", "1 2\n3 4\n\n5 six 7\n");
  expect_run_refused({"--tokens", "@FILES/ids"},
                     "ids: line 4: expected token ids from 0 to 100, got 'six'");
  write_file(files_ / "ids", "1 2\n3 400\n");
  expect_run_refused({"--tokens", "@FILES/ids"}, "ids: line 2: ");
  write_file(files_ / "ids", "");
  expect_run_refused({"--tokens", "@FILES/ids"}, "ids: line 1: ");
  write_file(files_ / "ids", "[1,\n2,\n3] 4");
  expect_run_refused({"--tokens", "@FILES/ids"}, "ids: line 3: expected nothing behind ']'");
}

TEST_F(bad_input, outputs_and_documents) {
  for (const char* outputs : {"0", "4", "-1", "1,4", "first", "", "1,,2", "all,1", "ALL"}) {
    expect_run_refused({"--tokens", "1,2,3", "--outputs=" + std::string(outputs)}, "--outputs");
  }
  expect_run_refused(
      {"--tokens", "1", "--tokens", "2", "--tokens", "3", "--outputs", "all", "--outputs", "last"},
      "--outputs: expected once, or once for each of 3");
  expect_run_refused({"--tokens", "1,2", "--documents", "0"}, "--documents: expected one id");
  expect_run_refused({"--tokens", "1,2", "--documents", "0,-1"}, "--documents: expected document");
  expect_run_refused({"--tokens", "1", "--tokens", "2", "--documents", "0"},
                     "--documents: expected once for each of 2");
}

TEST_F(bad_input, ways_to_compute) {
  expect_run_refused({"--tokens", "1", "--scalar", "fp8"}, "--scalar: expected one of double");
  expect_refused(
      {{"generate", "--random", "DIR", "--arch", "gdn", "--tokens", "1", "--scalar", "hopper"},
       "scalar: expected a model of softmax layers"});
  expect_run_refused({"--tokens", "1", "--form", "parallel"}, "--form: expected one of recurrent");
  expect_run_refused({"--tokens", "1", "--recurrent-chunk", "0"}, "--recurrent-chunk");
  for (const char* count : {"0", "-2", "x", "2000", "99999999999999999999"}) {
    expect_run_refused({"--tokens", "1", "--threads", count}, "--threads");
  }
  expect_run_refused({"--tokens", "1", "--chunk", "0"}, "--chunk");
  // A model that no memory holds is refused before anything is drawn.
  nlohmann::json config = plain_.golden()["config"];
  config["intermediate_size"] = int64_t{1} << 31;
  config["hidden_size"] = int64_t{1} << 24;
  write_file(files_ / "config.json", config.dump());
  expect_refused({{"run", "--random", "FILES", "--tokens", "1"}, "expected weights that fit"});
}

TEST_F(bad_input, files_to_write) {
  expect_refused(
      {{"run", "--model", "DIR", "--tokens", "1", "--dump", "NEW/no/such/dump"}, "dump"});
  expect_refused({{"run", "--model", "DIR", "--tokens", "1", "--dump", "NEW"}, "expected a file"});
  expect_refused({{"convert", "--model", "DIR", "--out", "NEW/no/such"}, "no/such: expected"});
  expect_refused(
      {{"convert", "--model", "DIR", "--out", "DIR"}, "expected a new or an empty folder"});
  expect_refused(
      {{"convert", "--model", "DIR", "--out", "DIR/config.json"}, "config.json: expected"});
  expect_refused({{"convert", "--model", "NEW/none", "--out", "NEW/out"}, "none"});
  expect_refused({{"convert", "--model", "DIR", "--out", "NEW/out", "--window", "0"}, "--window"});
  expect_refused({{"golden", "--random", "DIR", "--out", "DIR"}, "expected a new or an empty"});
  expect_refused({{"golden", "--out", "NEW/out"}, "--random: expected"});
}

TEST_F(bad_input, generation_and_loss) {
  const Words generate = {"generate", "--model", "DIR", "--tokens", "1"};
  const Words loss = {"loss", "--model", "DIR", "--tokens", "1,2,3"};
  const auto with = [](Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  expect_refused({with(generate, {"--max-tokens", "-1"}), "--max-tokens"});
  expect_refused({with(generate, {"--eos", "101"}), "--eos: expected token ids"});
  expect_refused({with(generate, {"--eos", "1", "--ignore-eos"}), "--eos: expected one of"});
  expect_refused({with(generate, {"--tokens", "2"}), "--tokens: expected once"});
  expect_refused({with(loss, {"--mode", "test"}), "--mode: expected one of pretrain, finetune"});
  expect_refused({with(loss, {"--mode", "finetune"}), "--prompt: expected the prompt's length"});
  expect_refused({with(loss, {"--prompt", "2"}), "--prompt: expected only beside"});
  expect_refused(
      {with(loss, {"--mode", "finetune", "--prompt", "4"}), "--prompt: expected 1 to 3"});
  expect_refused({with(loss, {"--mode", "finetune", "--prompt", "0"}), "--prompt"});
  expect_refused(
      {with(loss, {"--mode", "finetune", "--prompt", "3"}), "--tokens: expected a token"});
  expect_refused({with(loss, {"--end", "101"}), "--end: expected an id from 0 to 100"});
  expect_refused({{"loss", "--model", "DIR", "--tokens", "1"}, "--tokens: expected a token"});
}

TEST(output, that_cannot_be_written_is_said) {
  const TempFolder folder;
  const std::string command =
      shell_quoted(ORTHROS_REF) + " --help >/dev/full 2>" + shell_quoted((folder / "err").string());
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_NE(read_file(folder / "err").find("stdout: expected"), std::string::npos);
}

}  // namespace
}  // namespace orthros
