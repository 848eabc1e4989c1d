// --html of each verb: the file it writes, what it holds, and when it is refused.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace {

class html_option : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("orthros_pages_" + std::to_string(getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directory(folder_);
    library("/* Chart.js, as far as this test is concerned */");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void library(const std::string& text) { std::ofstream(folder_ / "chart.js") << text; }

  // The exit status of orthros-sim; its output lies in out_ and err_.
  int run(const std::string& arguments) {
    const std::string line = "ORTHROS_CHART_JS=" + (folder_ / "chart.js").string() + " " +
                             ORTHROS_SIM_PROGRAM + " " + arguments + " >" +
                             (folder_ / "out").string() + " 2>" + (folder_ / "err").string();
    const int status = std::system(line.c_str());
    out_ = read("out");
    err_ = read("err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string read(const char* name) {
    std::ostringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }
  std::string page() { return (folder_ / "page.html").string(); }

  std::vector<std::string> chart_ids() {
    const std::string html = read("page.html");
    const std::string opening = "id=\"charts\">";
    const size_t first = html.find(opening) + opening.size();
    std::vector<std::string> ids;
    for (const auto& chart :
         nlohmann::json::parse(html.substr(first, html.find("</script>", first) - first))) {
      ids.push_back(chart["id"]);
    }
    return ids;
  }

  std::filesystem::path folder_;
  std::string out_, err_;
};

const std::string cost = "cost --model qwen3-8b --arch transformer,orthros --input 128K --batch 2 ";

TEST_F(html_option, of_cost_writes_a_page_beside_what_is_printed) {
  ASSERT_EQ(run(cost + "--output 128 --profile sglang-triton-h100"), 0);
  const std::string printed = out_;
  ASSERT_EQ(run(cost + "--output 128 --profile sglang-triton-h100 --html " + page()), 0) << err_;
  EXPECT_EQ(out_, printed);
  EXPECT_EQ(chart_ids(), (std::vector<std::string>{"end-to-end", "gain", "first-token", "per-token",
                                                   "prefill-ops", "decode-ops", "memory"}));
  const std::string html = read("page.html");
  for (const char* said : {"qwen3-8b: 128K in, 128 out, batch 2", "NVIDIA H100 SXM5 80 GB",
                           "128K (131072)", "slow software", "max_position_embeddings", "77.25 s",
                           "orthros-sim cost --model qwen3-8b", "/* Chart.js, as far"}) {
    EXPECT_NE(html.find(said), std::string::npos) << said;
  }
}

TEST_F(html_option, of_breakeven_writes_a_page_beside_what_is_printed) {
  ASSERT_EQ(run("breakeven --model qwen3-8b --input 1K:1M:x2 --profile fa3-h100 --html " + page()),
            0)
      << err_;
  EXPECT_NE(out_.find("break_even_output"), std::string::npos);
  EXPECT_EQ(chart_ids(), (std::vector<std::string>{"break-even-output", "gain", "free-rows-batch",
                                                   "repaying-requests"}));
}

TEST_F(html_option, of_serve_writes_a_page_beside_what_is_printed) {
  const std::string serve =
      "serve --model qwen3-8b --arch transformer,orthros --rate 0.5 --requests 40 --input 16K "
      "--output 100 --profile fa3-h100 --slo-ttft 2 --json --html ";
  ASSERT_EQ(run(serve + page()), 0) << err_;
  EXPECT_EQ(nlohmann::json::parse(out_).size(), 2u);
  EXPECT_EQ(chart_ids(), (std::vector<std::string>{"kv", "queue", "running", "stages",
                                                   "first-token", "per-token", "end-to-end"}));
  const std::string html = read("page.html");
  for (const char* said : {"objective", "KV budget", "p99", "token budget"}) {
    EXPECT_NE(html.find(said), std::string::npos) << said;
  }
}

TEST_F(html_option, of_serve_says_what_was_rejected_and_when_not_to_trust_it) {
  ASSERT_EQ(run("serve --model qwen3-8b --arch transformer --rate 100 --requests 30 --input 3M "
                "--output 1 --html " +
                page()),
            0)
      << err_;
  EXPECT_NE(read("page.html").find("rejected"), std::string::npos);
  EXPECT_EQ(chart_ids(), (std::vector<std::string>{"kv", "queue", "running"}));
  ASSERT_EQ(run("serve --model qwen3-8b --arch transformer --rate 100 --requests 30 --input 16K "
                "--output 100 --html " +
                page()),
            0)
      << err_;
  EXPECT_NE(read("page.html").find("utilisation 100"), std::string::npos);
}

TEST_F(html_option, is_refused_where_there_is_no_page) {
  EXPECT_EQ(run(cost + "--output 8 --mode pretrain --html " + page()), 2);
  EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), 1) << err_;
  EXPECT_FALSE(std::filesystem::exists(page()));
}

TEST_F(html_option, leaves_out_what_one_token_has_no_figures_for) {
  ASSERT_EQ(run(cost + "--output 1 --html " + page()), 0) << err_;
  EXPECT_EQ(chart_ids(), (std::vector<std::string>{"end-to-end", "gain", "first-token",
                                                   "prefill-ops", "memory"}));
}

TEST_F(html_option, escapes_a_hostile_model_name) {
  const nlohmann::json config = {{"model_type", "llama"},
                                 {"hidden_size", 64},
                                 {"intermediate_size", 128},
                                 {"num_hidden_layers", 2},
                                 {"num_attention_heads", 4},
                                 {"num_key_value_heads", 2},
                                 {"vocab_size", 100},
                                 {"rms_norm_eps", 1e-6},
                                 {"rope_theta", 10000.0},
                                 {"tie_word_embeddings", false},
                                 {"max_position_embeddings", 4096},
                                 {"torch_dtype", "bfloat16"}};
  const auto model = folder_ / "<img src=x onerror=alert(1)>&";
  std::filesystem::create_directory(model);
  std::ofstream(model / "config.json") << config;
  ASSERT_EQ(run("cost --model '" + model.string() + "' --input 10 --output 10 --html " + page()), 0)
      << err_;
  const std::string html = read("page.html");
  EXPECT_EQ(html.find("<img"), std::string::npos);
  EXPECT_NE(html.find("&lt;img src=x onerror=alert(1)&gt;&amp;"), std::string::npos);
  EXPECT_FALSE(chart_ids().empty());
}

TEST_F(html_option, survives_lengths_whose_neighbours_cannot_be_counted) {
  ASSERT_EQ(run("cost --model qwen3-8b --input 1 --output 1 --batch 100000 --html " + page()), 0)
      << err_;
  EXPECT_NE(read("page.html").find("n/a"), std::string::npos);
}

TEST_F(html_option, without_the_library_says_in_one_line_what_to_install) {
  std::filesystem::remove(folder_ / "chart.js");
  EXPECT_EQ(run(cost + "--output 8 --html " + page()), 2);
  EXPECT_TRUE(out_.empty());
  EXPECT_NE(err_.find("libjs-chart.js"), std::string::npos);
  EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), 1) << err_;
  EXPECT_FALSE(std::filesystem::exists(page()));
  EXPECT_EQ(run(cost + "--output 8"), 0);
}

TEST_F(html_option, of_a_file_that_cannot_be_written_prints_nothing) {
  EXPECT_EQ(run(cost + "--output 8 --html " + (folder_ / "none" / "page.html").string()), 2);
  EXPECT_TRUE(out_.empty()) << out_;
  EXPECT_NE(err_.find("page.html"), std::string::npos);
}

TEST_F(html_option, of_bad_input_leaves_the_page_that_stood_there) {
  std::ofstream(page()) << "before";
  EXPECT_EQ(run(cost + "--output nan --html " + page()), 2);
  EXPECT_EQ(read("page.html"), "before");
}

TEST_F(html_option, writes_the_same_page_for_the_same_question) {
  ASSERT_EQ(run(cost + "--output 16 --html " + page()), 0);
  const std::string first = read("page.html");
  ASSERT_EQ(run(cost + "--output 16 --html " + page()), 0);
  EXPECT_EQ(read("page.html"), first);
}

}  // namespace
