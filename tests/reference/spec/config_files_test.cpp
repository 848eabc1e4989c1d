// Configs as files: folders, generation_config.json, presets, and what is no config at all.
#include <gtest/gtest.h>

#include <algorithm>

#include "reference/spec/architecture.hpp"
#include "reference/spec/scenario_files.hpp"
#include "tests/reference/spec/configs.hpp"
#include "tests/reference/spec/refusal.hpp"
#include "tests/reference/weights/file_bytes.hpp"

namespace orthros {
namespace {

namespace fs = std::filesystem;

class config_files : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    write_file(folder_.path() / name, text);
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string refused(const std::string& name) {
    return refusal_of([&] { return load_spec(folder_.path() / name); });
  }
  TempFolder folder_;
};

TEST_F(config_files, a_folder_or_its_config_json_is_read) {
  write("config.json", llama_config().dump());
  const ModelSpec from_folder = load_spec(folder_.path());
  EXPECT_EQ(from_folder.source, path("config.json"));
  EXPECT_EQ(from_folder.name, folder_.path().filename().string());
  EXPECT_TRUE(same_model(from_folder, read(llama_config())));
  EXPECT_TRUE(same_model(load_spec(folder_.path() / "config.json"), from_folder));
  EXPECT_TRUE(same_model(load_model_spec(folder_.path().string()), from_folder));
}

TEST_F(config_files, generation_config_adds_its_eos_ids) {
  write("config.json", with(llama_config(), {{"eos_token_id", 5}}).dump());
  write("generation_config.json", R"({"eos_token_id": [9, 5, 7], "do_sample": true})");
  EXPECT_EQ(load_spec(folder_.path()).eos, (std::vector<int64_t>{5, 7, 9}));
  write("generation_config.json", R"({"eos_token_id": 3})");
  EXPECT_EQ(load_spec(folder_.path()).eos, (std::vector<int64_t>{3, 5}));
  write("generation_config.json", R"({"eos_token_id": null})");
  EXPECT_EQ(load_spec(folder_.path()).eos, std::vector<int64_t>{5});
  write("generation_config.json", "{}");
  EXPECT_EQ(load_spec(folder_.path()).eos, std::vector<int64_t>{5});
  write("config.json", llama_config().dump());
  write("generation_config.json", R"({"eos_token_id": [2, 1]})");
  EXPECT_EQ(load_spec(folder_.path()).eos, (std::vector<int64_t>{1, 2}));
  // It belongs to a checkpoint's config.json, not to any file that lies beside it.
  write("preset.json", llama_config().dump());
  EXPECT_EQ(load_spec(folder_.path() / "preset.json").eos, std::vector<int64_t>{});
}

TEST_F(config_files, a_bad_generation_config_is_refused_by_its_own_name) {
  write("config.json", llama_config().dump());
  const std::string file = path("generation_config.json");
  for (const char* bad : {R"({"eos_token_id": 100})", R"({"eos_token_id": -1})",
                          R"({"eos_token_id": ["2"]})", R"({"eos_token_id": 2.5})"}) {
    write("generation_config.json", bad);
    EXPECT_TRUE(names(refused("config.json"), file, "eos_token_id")) << bad;
  }
  for (const char* bad : {"", "[]", "{", "3"}) {
    write("generation_config.json", bad);
    EXPECT_EQ(refused("config.json").rfind(file + ": ", 0), 0u) << bad;
  }
}

TEST_F(config_files, what_is_no_json_is_refused) {
  for (const std::string& bad :
       {std::string(), std::string("{"), std::string("{} {}"), std::string("{'a': 1}"),
        std::string("{\"a\": NaN}"), std::string("{\"a\": 1e999}"), std::string("{\"a\": 01}"),
        std::string("\xff\xfe{\0}\0", 6), std::string("{\"a\": \"\xff\"}"),
        std::string("{\"model_type\": \"llama\",}"), std::string(1'000, '\0')}) {
    write("config.json", bad);
    EXPECT_EQ(refused("config.json").rfind(path("config.json") + ": expected", 0), 0u) << bad;
  }
  write("config.json", "\xef\xbb\xbf" + llama_config().dump());  // a byte order mark is harmless
  EXPECT_EQ(load_spec(folder_.path()).vocab, 100);
}

TEST_F(config_files, json_too_deep_for_the_stack_is_refused) {
  for (const char* open : {"[", "{\"a\":", "{\"hidden_size\":["}) {
    std::string text;
    for (int i = 0; i < 1'000'000; ++i) text += open;
    write("config.json", text);
    EXPECT_NE(refused("config.json").find("levels"), std::string::npos);
  }
  std::string text = llama_config().dump();
  text.insert(text.size() - 1, ",\"x\":" + std::string(60, '[') + std::string(60, ']'));
  write("config.json", text);
  EXPECT_EQ(load_spec(folder_.path()).vocab, 100);
}

TEST_F(config_files, what_is_no_readable_file_is_refused) {
  EXPECT_EQ(refused("config.json"), path("config.json") + ": expected a file, found none");
  EXPECT_EQ(refused(""), path("config.json") + ": expected a file, found none");
  fs::create_directory(folder_.path() / "config.json");
  EXPECT_EQ(refused("").rfind(path("config.json") + ": expected", 0), 0u);
  const std::string long_name(300, 'a');  // past what a file system names
  refusal_of([&] { return load_spec(long_name); });
  refusal_of([&] { return load_model_spec(long_name); });
  refusal_of([&] { return load_model_spec("/" + long_name); });
  refusal_of([&] { return load_spec("/dev/null"); });
}

TEST_F(config_files, a_file_past_64_mib_is_refused_unread) {
  write("config.json", "{}");
  fs::resize_file(folder_.path() / "config.json", uintmax_t{1} << 40);  // sparse
  EXPECT_NE(refused("config.json").find("64 MiB"), std::string::npos);
}

TEST(presets, an_unknown_name_lists_the_known) {
  const std::string line = refusal_of([] { return load_model_spec("qwen4-8b"); });
  EXPECT_EQ(line.rfind("models: expected", 0), 0u) << line;
  EXPECT_NE(line.find("'qwen4-8b'"), std::string::npos) << line;
  for (const char* preset : {"qwen3-8b", "llama-3.1-8b", "transformer-1.3b", "hybrid-27-9"}) {
    EXPECT_NE(line.find(preset), std::string::npos) << line;
  }
  for (const char* bad : {"", "..", "qwen3-8b.json", "models/qwen3-8b", "QWEN3-8B", "qwen3-8b "}) {
    refusal_of([&] { return load_model_spec(bad); });
  }
}

TEST(presets, every_one_reads_as_the_system_it_is_named_for) {
  const std::pair<const char*, const char*> expected[] = {{"gdn-1.3b", "gdn"},
                                                          {"gla-1.3b", "gla"},
                                                          {"hybrid-27-9", "linear-hybrid"},
                                                          {"llama-3.1-8b", "transformer"},
                                                          {"orthros-1.3b", "orthros"},
                                                          {"qwen3-8b", "transformer"},
                                                          {"qwen3.5-9b", "linear-hybrid"},
                                                          {"retnet-1.3b", "retnet"},
                                                          {"swa-1.3b", "swa"},
                                                          {"transformer-1.3b", "transformer"},
                                                          {"yoco-3b", "yoco"}};
  const auto names = scenario_names("models");
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const auto& [preset, architecture] : expected) {
    const ModelSpec spec = load_model_spec(preset);
    EXPECT_EQ(architecture_of(spec), architecture) << preset;
    EXPECT_EQ(spec.name, preset);
    EXPECT_TRUE(same_model(spec, load_model_spec(scenario_path("models", preset).string())));
    EXPECT_NE(std::find(names.begin(), names.end(), preset), names.end());
  }
}

TEST(presets, a_path_is_a_path_and_a_name_a_name) {
  EXPECT_EQ(scenario_path("models", "qwen3-8b"), scenarios_folder() / "models" / "qwen3-8b.json");
  const std::string path = (scenarios_folder() / "models" / "qwen3-8b.json").string();
  EXPECT_EQ(scenario_path("models", path), path);
  EXPECT_TRUE(scenario_names("no such kind").empty());
  refusal_of([] { return scenario_path("models", "no/such/file"); });
}

}  // namespace
}  // namespace orthros
