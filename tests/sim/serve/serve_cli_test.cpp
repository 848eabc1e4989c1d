// orthros-sim serve as a program: what it prints and writes, and what it refuses.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/reference/weights/file_bytes.hpp"

namespace orthros {
namespace {

using Json = nlohmann::json;

struct Outcome {
  int status = -1;
  std::string out, err;
};

// In a shell; options hold no character that it would take for its own.
Outcome serve_run(const std::string& options) {
  const TempFolder folder;
  const std::string errors = (folder / "err").string();
  const std::string command =
      std::string(ORTHROS_SIM_PROGRAM) + " serve " + options + " 2>" + errors;
  Outcome run;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return run;
  char block[4096];
  for (size_t got = 0; (got = std::fread(block, 1, sizeof block, pipe)) > 0;) {
    run.out.append(block, got);
  }
  const int status = pclose(pipe);
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  run.err = read_file(errors);
  return run;
}

Json serve_json(const std::string& options) {
  const Outcome run = serve_run(options + " --json");
  EXPECT_EQ(run.status, 0) << run.err;
  return Json::parse(run.out, nullptr, false);
}

const std::string model = "--model qwen3-8b ";
const std::string drawn = model + "--rate 2 --requests 40 --input lognormal:2K,0.5 --output 60 ";

TEST(sim_serve_cli, json_has_an_object_per_architecture_in_the_order_given) {
  const Json json = serve_json(drawn + "--arch orthros,transformer,swa");
  ASSERT_EQ(json.size(), 3u);
  const char* order[] = {"orthros", "transformer", "swa"};
  for (size_t i = 0; i < 3; ++i) {
    const Json& entry = json[i];
    EXPECT_EQ(entry["arch"], order[i]);
    EXPECT_EQ(entry["requests"], 40);
    EXPECT_EQ(entry["completed"], 40);
    EXPECT_EQ(entry["rejected"], 0);
    EXPECT_EQ(entry["output_tokens"], 40 * 60);
    EXPECT_EQ(entry["input_tokens"], json[0]["input_tokens"]);  // the same requests for each
    for (const char* name : {"ttft_s", "tpot_s", "itl_s", "e2e_s"}) {
      const Json& d = entry[name];
      for (const char* figure : {"mean", "p50", "p90", "p95", "p99"}) {
        ASSERT_TRUE(d[figure].is_number()) << name << " " << figure;
      }
      EXPECT_LE(d["p50"], d["p90"]);
      EXPECT_LE(d["p90"], d["p95"]);
      EXPECT_LE(d["p95"], d["p99"]);
    }
    for (const char* name : {"duration_s", "output_tokens_per_s", "goodput_rps", "utilisation",
                             "gpu_seconds", "cost_per_million_output_tokens"}) {
      EXPECT_TRUE(entry[name].is_number()) << name;
    }
    for (const char* name : {"preemptions", "kv_peak_bytes", "input_tokens"}) {
      EXPECT_TRUE(entry[name].is_number_integer()) << name;
    }
  }
}

TEST(sim_serve_cli, one_seed_gives_the_same_bytes_and_another_gives_others) {
  const std::string once = serve_run(drawn + "--json").out;
  EXPECT_EQ(serve_run(drawn + "--json").out, once);
  EXPECT_NE(serve_run(drawn + "--json --seed 2").out, once);
}

// Case 32.
TEST(sim_serve_cli, times_between_tokens_are_null_where_there_are_none) {
  for (const char* output : {"0", "1"}) {
    const std::string options =
        model + "--rate 2 --requests 5 --input 1K --output " + std::string(output);
    const Json json = serve_json(options);
    for (const char* name : {"tpot_s", "itl_s"}) {
      for (const Json& figure : json[0][name]) EXPECT_TRUE(figure.is_null()) << name;
    }
    EXPECT_TRUE(json[0]["ttft_s"]["p99"].is_number());
    const Outcome table = serve_run(options);
    EXPECT_NE(table.out.find("n/a"), std::string::npos);
    for (const char* never : {"nan", "inf"}) {
      EXPECT_EQ(table.out.find(never), std::string::npos) << table.out;
    }
  }
}

TEST(sim_serve_cli, what_was_understood_is_printed) {
  const Outcome run = serve_run(model + "--concurrency 4 --requests 8 --input 25.6k --output 3");
  EXPECT_EQ(run.status, 0);
  for (const char* part : {"8 requests", "25600 in", "closed loop of 4", "profile ideal"}) {
    EXPECT_NE(run.out.find(part), std::string::npos) << part;
  }
}

void expect_close(const Json& a, const Json& b, const std::string& where) {
  if (a.is_number_float()) {
    // What is promised of time-skipping.
    EXPECT_NEAR(a.get<double>(), b.get<double>(), 1e-9 * std::abs(a.get<double>())) << where;
  } else if (a.is_structured()) {
    for (const auto& [name, value] : a.items()) {
      expect_close(value, a.is_array() ? b[std::stoul(name)] : b[name], where + "." + name);
    }
  } else {
    EXPECT_EQ(a, b) << where;
  }
}

TEST(sim_serve_cli, stepwise_gives_the_same_figures) {
  const std::string options = drawn + "--arch transformer,swa,orthros --kv-budget 1G --seed 3";
  expect_close(serve_json(options), serve_json(options + " --stepwise"), "");
}

TEST(sim_serve_cli, near_saturation_is_said) {
  const std::string busy = model + "--requests 50 --input 4K --output 100 --rate ";
  EXPECT_NE(serve_run(busy + "100").err.find("at saturation"), std::string::npos);
  EXPECT_EQ(serve_run(busy + "0.1").err, "");
}

TEST(sim_serve_cli, a_rejected_request_is_named_and_the_rest_go_on) {
  const TempFolder folder;
  write_file(folder / "t.csv", "arrival_s,input,output\n0,100,5\n1,90000,5\n2,100,5\n");
  const Outcome run =
      serve_run(model + "--kv-budget 1G --json --trace " + (folder / "t.csv").string());
  EXPECT_EQ(run.status, 0);
  EXPECT_NE(run.err.find("request 2 rejected"), std::string::npos) << run.err;
  const Json json = Json::parse(run.out);
  EXPECT_EQ(json[0]["rejected"], 1);
  EXPECT_EQ(json[0]["completed"], 2);
}

TEST(sim_serve_cli, trace_times_can_be_scaled_and_cut) {
  const TempFolder folder;
  write_file(folder / "t.csv", "arrival_s,input,output\n0,10,5\n10,10,5\n20,10,5\n30,10,5\n");
  const std::string trace = model + "--trace " + (folder / "t.csv").string();
  const auto duration = [&](const std::string& options) {
    return std::lround(serve_json(trace + options)[0]["duration_s"].get<double>());
  };
  EXPECT_EQ(duration(""), 30);
  EXPECT_EQ(duration(" --time-scale 0.5"), 15);
  EXPECT_EQ(duration(" --duration 25"), 20);
  EXPECT_EQ(duration(" --requests 2"), 10);
  EXPECT_EQ(duration(" --concurrency 2"), 0);
}

TEST(sim_serve_cli, files_hold_every_request_and_a_trace_that_perfetto_reads) {
  const TempFolder folder;
  const auto path = [&](const char* name) { return (folder / name).string(); };
  const Outcome run =
      serve_run(drawn + "--arch transformer,orthros --requests-csv " + path("r.csv") +
                " --timeline-csv " + path("t.csv") + " --perfetto " + path("p.json"));
  ASSERT_EQ(run.status, 0) << run.err;
  const std::string requests = read_file(folder / "r.csv");
  EXPECT_EQ(std::count(requests.begin(), requests.end(), '\n'), 1 + 2 * 40);
  EXPECT_GT(read_file(folder / "t.csv").size(), 200u);
  const Json events = Json::parse(read_file(folder / "p.json"))["traceEvents"];
  int64_t slices = 0;
  for (const Json& event : events) {
    ASSERT_TRUE(event["ph"].is_string() && event["pid"].is_number_integer());
    if (event["ph"] == "M") continue;
    EXPECT_GE(event["ts"], 0.0);
    if (event["ph"] != "X") continue;
    EXPECT_GE(event["dur"], 0.0);
    slices += event["name"].get<std::string>().starts_with("request ") ? 1 : 0;
  }
  EXPECT_EQ(slices, 2 * 40);
}

TEST(sim_serve_cli, bad_input_is_one_line_and_writes_nothing) {
  const TempFolder folder;
  const std::string kept = (folder / "kept.csv").string();
  const std::string bad[] = {
      model,
      model + "--rate 2 --input 1K --output 5",
      model + "--rate 2 --requests 5 --input 1K",
      model + "--rate 0 --requests 5 --input 1K --output 5",
      model + "--rate nan --requests 5 --input 1K --output 5",
      model + "--rate -1 --requests 5 --input 1K --output 5",
      model + "--rate 2 --requests 0 --input 1K --output 5",
      model + "--rate 2 --requests 5 --input 0 --output 5",
      model + "--rate 2 --requests 5 --input 1K --output -5",
      model + "--rate 2 --requests 5 --input 4T --output 5",
      model + "--rate 2 --duration 1e-9 --input 1K --output 5",
      model + "--concurrency 2 --input 1K --output 5",
      model + "--concurrency 2 --rate 1 --requests 5 --input 1K --output 5",
      model + "--trace no/such/trace.csv",
      model + "--trace no/such/trace.csv --input 5",
      model + "--lengths no/such/lengths.csv --rate 1 --requests 5",
      drawn + "--token-budget 0",
      drawn + "--max-batch 0",
      drawn + "--block-size 0",
      drawn + "--kv-budget 0",
      drawn + "--kv-budget 9999999T",
      drawn + "--replicas 0",
      drawn + "--replicas 100000",
      drawn + "--routing random",
      drawn + "--disaggregate 2",
      drawn + "--disaggregate 0:1",
      drawn + "--disaggregate 1:1 --replicas 2",
      drawn + "--prefix-cache",
      drawn + "--time-scale 2",
      drawn + "--slo-ttft -1",
      drawn + "--price inf",
      drawn + "--seed -1",
      drawn + "--hardware l40s --weights bf16 --token-budget 100M",
      drawn + "--requests-csv no/such/folder/r.csv",
      drawn + "--json --csv",
      drawn + "--arch transfomer",
      drawn + "stray",
  };
  for (const std::string& options : bad) {
    SCOPED_TRACE(options);
    const Outcome run = serve_run(options + " --requests-csv " + kept);
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_TRUE(run.err.starts_with("orthros-sim: ")) << run.err;
    EXPECT_FALSE(std::filesystem::exists(kept));
  }
}

TEST(sim_serve_cli, csv_has_a_row_per_architecture) {
  const std::string out = serve_run(drawn + "--arch transformer,orthros --csv").out;
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 3);
  EXPECT_NE(out.find("ttft_s_p99"), std::string::npos);
}

TEST(sim_serve_cli, help_says_what_is_modelled_and_what_is_not) {
  const Outcome run = serve_run("--help");
  EXPECT_EQ(run.status, 0);
  for (const char* part : {"usage: orthros-sim serve", "Not modelled", "When not to trust it"}) {
    EXPECT_NE(run.out.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace orthros
