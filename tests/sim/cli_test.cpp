// orthros-sim as a program: what it prints, to where, and its exit statuses.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "reference/spec/scenario_files.hpp"

namespace {

struct Outcome {
  int status = -1;
  std::string out, err;
};

Outcome run(const std::string& arguments) {
  const std::string errors =
      (std::filesystem::temp_directory_path() / ("orthros_cli_" + std::to_string(getpid())))
          .string();
  const std::string line = std::string(ORTHROS_SIM_PROGRAM) + " " + arguments + " 2>" + errors;
  Outcome outcome;
  FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer{};
  size_t got = 0;
  while ((got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0) {
    outcome.out.append(buffer.data(), got);
  }
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  std::ostringstream text;
  text << std::ifstream(errors).rdbuf();
  outcome.err = text.str();
  std::filesystem::remove(errors);
  return outcome;
}

const std::string headline =
    "cost --model qwen3-8b --arch transformer,swa,orthros --input 128K --output 128 --batch 2 "
    "--hardware h100-sxm";

TEST(sim_cli, cost_prints_one_json_object_per_architecture_in_the_order_given) {
  const Outcome outcome = run(headline + " --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(json.size(), 3u);
  const char* order[] = {"transformer", "swa", "orthros"};
  for (size_t i = 0; i < 3; ++i) {
    const auto& entry = json[i];
    EXPECT_EQ(entry["arch"], order[i]);
    EXPECT_EQ(entry["model"], "qwen3-8b");
    EXPECT_EQ(entry["profile"], "ideal");
    EXPECT_EQ(entry["input"], 131072);
    for (const char* name : {"prefill", "decode", "total"}) {
      EXPECT_TRUE(entry["flops"][name].is_number_integer()) << name;
    }
    for (const char* name :
         {"weights_bytes", "kv_bytes_per_token", "kv_bytes", "state_bytes", "total_bytes"}) {
      EXPECT_TRUE(entry["memory"][name].is_number_integer()) << name;
    }
    EXPECT_TRUE(entry["memory"]["fits"].is_boolean());
    for (const char* name : {"ttft_s", "decode_step_s", "tpot_s", "e2e_s", "output_tokens_per_s",
                             "decode_tokens_per_s"}) {
      EXPECT_TRUE(entry["latency"][name].is_number()) << name;
    }
    ASSERT_FALSE(entry["ops"].empty());
    for (const char* name :
         {"stage", "name", "kind", "count", "flops", "bytes", "seconds", "bound"}) {
      EXPECT_TRUE(entry["ops"][0].contains(name)) << name;
    }
  }
  EXPECT_EQ(json[2]["memory"]["kv_bytes"], 2 * 131199 * 147456LL);
}

TEST(sim_cli, what_was_understood_and_the_profile_are_printed) {
  const Outcome outcome = run(headline + " --profile sglang-triton-h100");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const char* part : {"128K (131072)", "profile sglang-triton-h100", "77.25 s", "84.91 s"}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
  }
}

TEST(sim_cli, figures_that_do_not_exist_are_null) {
  for (const char* output : {"0", "1"}) {
    const Outcome outcome =
        run(std::string("cost --model qwen3-8b --input 1k --json --output ") + output);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const auto json = nlohmann::json::parse(outcome.out);
    EXPECT_TRUE(json[0]["latency"]["tpot_s"].is_null());
    EXPECT_TRUE(json[0]["latency"]["decode_tokens_per_s"].is_null());
    EXPECT_EQ(json[0]["input"], 1000);
    EXPECT_EQ(outcome.out.find("nan"), std::string::npos);
    EXPECT_EQ(outcome.out.find("inf"), std::string::npos);
  }
}

TEST(sim_cli, what_does_not_fit_and_what_is_too_long_still_exit_0) {
  const Outcome outcome = run("cost --model qwen3-8b --input 1M --output 2 --batch 8 --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)[0]["memory"]["fits"], false);
  EXPECT_NE(outcome.err.find("max_position_embeddings"), std::string::npos);
}

// Case 31 and its kind.
TEST(sim_cli, bad_input_is_one_line_on_stderr_and_exit_2) {
  const std::string sweep = (orthros::scenarios_folder() / "measured" / "h200").string();
  const std::string base = "cost --model qwen3-8b --input 1K --output 8 ";
  const std::string bad[] = {"cost --model qwen3-8b --input -5 --output 8",
                             "cost --model qwen3-8b --input 99999999999999999999 --output 8",
                             "cost --model qwen3-8b --input 8388608T --output 8",
                             "cost --model qwen3-8b --input 1.5 --output 8",
                             "cost --model qwen3-8b --input 0 --output 8",
                             "cost --model qwen3-8b --input 1G --output 8 --batch 1G",
                             "cost --model qwen3-8b --input nan --output 8",
                             "cost --model qwen3-8b --output 8",
                             "cost --model no-such-model --input 1K --output 8",
                             base + "--arch transfomer",
                             base + "--arch transformer,,swa",
                             base + "--hardware h900",
                             base + "--profile magic",
                             base + "--window 0 --arch swa",
                             base + "--json --csv",
                             base + "--jso",
                             base + "stray",
                             base + "--batch 0",
                             base + "--weights fp4",
                             base + "--tensor-parallel 0",
                             base + "--arch swa --sequence-parallel 2",
                             base + "--arch orthros --sequence-parallel 2 --left-context guess",
                             "no-such-verb",
                             "fit",
                             "roofline",
                             "roofline --runs " + sweep + " --batch 3",
                             "roofline --runs no-such-sweep",
                             ""};
  for (const std::string& arguments : bad) {
    SCOPED_TRACE(arguments);
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_TRUE(outcome.out.empty()) << outcome.out;
    if (arguments.empty()) continue;  // usage
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_EQ(outcome.err.rfind("orthros-sim: ", 0), 0u) << outcome.err;
  }
}

TEST(sim_cli, cost_says_what_shards_do_with_their_left_context) {
  const std::string base = "cost --model qwen3-8b --input 64K --output 1 --json --arch ";
  const auto said = [&](const std::string& arguments) {
    const Outcome outcome = run(base + arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out)[0]["left_context"];
  };
  EXPECT_EQ(said("orthros --sequence-parallel 2"), "recompute");
  EXPECT_EQ(said("orthros --sequence-parallel 2 --left-context receive"), "receive");
  EXPECT_EQ(said("transformer --sequence-parallel 2"), "deal");
  EXPECT_EQ(said("transformer --sequence-parallel 2 --left-context receive"), "receive");
  EXPECT_EQ(said("swa --sequence-parallel 2"), "receive");
  EXPECT_TRUE(said("orthros").is_null());
}

TEST(sim_cli, an_unknown_preset_lists_the_known) {
  EXPECT_NE(run("cost --model qwen3-8b --input 1 --output 1 --hardware h900").err.find("h100-sxm"),
            std::string::npos);
}

TEST(sim_cli, every_verb_has_help) {
  for (const char* verb :
       {"cost", "sweep", "memory", "breakeven", "plan", "compare", "fit", "roofline", "validate"}) {
    const Outcome outcome = run(std::string(verb) + " --help");
    EXPECT_EQ(outcome.status, 0);
    EXPECT_NE(outcome.out.find("usage: orthros-sim"), std::string::npos);
  }
}

TEST(sim_cli, csv_has_a_row_per_architecture) {
  const Outcome outcome = run(headline + " --csv");
  ASSERT_EQ(outcome.status, 0);
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 4);
}

TEST(sim_cli, validating_the_paper_passes_with_its_profile_and_fails_with_the_ideal_one) {
  EXPECT_EQ(run("validate --paper").status, 0);
  EXPECT_EQ(run("validate --paper --profile ideal").status, 1);
}

TEST(sim_cli, validating_without_arguments_goes_through_every_published_figure) {
  const Outcome outcome = run("validate");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_NE(outcome.out.find("Fig. 4"), std::string::npos);
  EXPECT_NE(outcome.err.find("left out"), std::string::npos);
}

TEST(sim_cli, a_sweep_has_a_row_per_combination) {
  const Outcome outcome =
      run("sweep --model qwen3-8b --arch transformer,orthros --window 64,128 --input 1K:4K:x2 "
          "--output 1,16 --batch 1,2");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1 + 2 * 2 * 3 * 2 * 2);
}

TEST(sim_cli, a_served_sweep_has_a_row_per_load_and_more_clients_wait_longer) {
  const Outcome outcome =
      run("sweep --model qwen3-8b --arch transformer,orthros --input 8K --output 16 "
          "--concurrency 1,8 --kv-budget 20G,40G --profile sglang-triton-h100");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  std::string line;
  std::vector<std::vector<std::string>> rows;
  while (std::getline(lines, line)) {
    std::vector<std::string> cells;
    std::istringstream columns(line);
    for (std::string cell; std::getline(columns, cell, ',');) cells.push_back(cell);
    rows.push_back(cells);
  }
  ASSERT_EQ(rows.size(), 1u + 2 * 2 * 2);
  const auto column = [&](const char* name) {
    const auto found = std::find(rows[0].begin(), rows[0].end(), name);
    return static_cast<size_t>(found - rows[0].begin());
  };
  // One client's request is what `cost` says of a batch of one.
  const Outcome cost =
      run("cost --model qwen3-8b --arch transformer --input 8K --output 16 "
          "--profile sglang-triton-h100 --json");
  const double ttft = nlohmann::json::parse(cost.out)[0]["latency"]["ttft_s"];
  EXPECT_NEAR(std::stod(rows[1][column("ttft_mean_s")]), ttft, 1e-9 * ttft);
  EXPECT_GT(std::stod(rows[3][column("ttft_mean_s")]), std::stod(rows[1][column("ttft_mean_s")]));
  EXPECT_EQ(run("sweep --model qwen3-8b --input 1K --output 1 --concurrency 0").status, 2);
}

TEST(sim_cli, other_verbs_answer_in_json) {
  for (const char* arguments :
       {"memory --model qwen3-8b --arch all --json",
        "breakeven --model qwen3-8b --input 32K,128K --json",
        "plan --model qwen3-8b --arch orthros --input 8K --output 200 --json",
        "compare --equal-flops --model transformer-1.3b --arch transformer,orthros --json"}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 0) << arguments << outcome.err;
    EXPECT_FALSE(nlohmann::json::parse(outcome.out).empty()) << arguments;
  }
}

TEST(sim_cli, training_costs_three_forwards_and_rl_adds_the_rollout) {
  const std::string base = "cost --model qwen3-8b --arch orthros --input 1K --output 64 --json";
  const auto flops = [&](const char* mode) {
    const Outcome outcome = run(base + mode);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out)[0]["flops"];
  };
  const auto finetune = flops(" --mode finetune");
  const auto rl = flops(" --mode rl");
  const auto serve = flops("");
  EXPECT_EQ(finetune["training"].get<int64_t>(), 3 * finetune["forward"].get<int64_t>());
  EXPECT_EQ(rl["rollout"], serve["total"]);
  EXPECT_EQ(rl["total"].get<int64_t>(),
            finetune["training"].get<int64_t>() + serve["total"].get<int64_t>());
  EXPECT_EQ(run(base + " --mode other").status, 2);
}

}  // namespace
