// Pages in a headless Chromium: no word on the console, every chart drawn.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "reference/spec/input_error.hpp"
#include "sim/report/chart_library.hpp"
#include "tests/sim/report/browser.hpp"
#include "tests/sim/report/sample_page.hpp"

namespace orthros::test {
namespace {

class browser : public testing::Test {
 protected:
  void SetUp() override {
    program_ = find_browser();
    if (!program_) GTEST_SKIP() << "no chromium: install it with '.ci/setup reports'";
    try {
      report::chart_library();
    } catch (const InputError& error) {
      GTEST_SKIP() << error.what();
    }
    file_ = std::filesystem::temp_directory_path() /
            ("orthros_page_" + std::to_string(getpid()) + ".html");
  }
  void TearDown() override { std::filesystem::remove(file_); }

  // Runs `orthros-sim ARGUMENTS --html FILE`.
  void write_page(const std::string& arguments) {
    const std::string line = std::string(ORTHROS_SIM_PROGRAM) + " " + arguments + " --html " +
                             file_.string() + " >/dev/null 2>&1";
    ASSERT_EQ(std::system(line.c_str()), 0) << line;
  }

  // Every figure has marks (bars, cells, points) and ink on its canvas, and the console is empty.
  void expect_drawn(size_t charts) {
    const LoadedPage page = load_page(*program_, file_);
    ASSERT_EQ(page.status, 0);
    EXPECT_TRUE(page.console.empty()) << page.console.front();
    const std::string all = std::to_string(charts);
    EXPECT_EQ(attribute_of(page.dom, "<html", "data-drawn"), all + " of " + all);
    size_t seen = 0;
    for (size_t at = 0; (at = page.dom.find("<figure ", at)) != std::string::npos; ++at, ++seen) {
      const std::string figure = page.dom.substr(at, page.dom.find("</figure>", at) - at);
      SCOPED_TRACE(attribute_of(figure, "<figure", "id"));
      EXPECT_GE(std::atoi(attribute_of(figure, "<figure", "data-drawn").c_str()), 1);
      EXPECT_GE(std::atoi(attribute_of(figure, "<figure", "data-inked").c_str()), 1);
      EXPECT_GE(std::atoi(attribute_of(figure, "<canvas", "width").c_str()), 300);
      EXPECT_GE(std::atoi(attribute_of(figure, "<canvas", "height").c_str()), 80);
    }
    EXPECT_EQ(seen, charts);
  }

  std::optional<std::filesystem::path> program_;
  std::filesystem::path file_;
};

TEST_F(browser, draws_every_chart_of_cost) {
  write_page(
      "cost --model qwen3-8b --arch transformer,swa,orthros --input 128K --output 128 "
      "--batch 2 --profile sglang-triton-h100");
  expect_drawn(7);
}

TEST_F(browser, draws_cost_of_every_architecture) {
  write_page("cost --model qwen3-8b --arch all --input 30k --output 300 --batch 16");
  expect_drawn(7);
}

TEST_F(browser, draws_cost_of_one_architecture_that_gives_no_token) {
  write_page("cost --model gdn-1.3b --input 1 --output 0");
  expect_drawn(5);
}

TEST_F(browser, draws_every_chart_of_sweep) {
  write_page(
      "sweep --model qwen3-8b --arch transformer,orthros --input 1K:128K:x2 --output 128,1K "
      "--batch 1,8");
  expect_drawn(7);
}

TEST_F(browser, draws_every_chart_of_breakeven) {
  write_page("breakeven --model qwen3-8b --input 1K:1M:x2 --profile fa3-h100");
  expect_drawn(4);
}

TEST_F(browser, draws_every_chart_of_serve) {
  write_page(
      "serve --model qwen3-8b --arch transformer,orthros --rate 0.5 --requests 40 --input 16K "
      "--output 100 --profile fa3-h100 --slo-ttft 2");
  expect_drawn(7);
}

TEST_F(browser, draws_serve_where_every_request_is_rejected) {
  write_page("serve --model qwen3-8b --rate 1 --requests 3 --input 3M --output 1");
  expect_drawn(3);
}

TEST_F(browser, draws_a_page_of_hostile_names_and_runs_none_of_them) {
  const std::string hostile =
      "\"'></script><script>document.title='run'</script><img src=x onerror=console.log(1)><!--";
  std::ofstream(file_) << report::page_html(sample_page(hostile), report::chart_library());
  expect_drawn(3);
}

TEST_F(browser, hears_of_a_page_whose_script_fails) {
  std::ofstream(file_) << report::page_html(sample_page("name"), "throw Error('no Chart.js')");
  const LoadedPage page = load_page(*program_, file_);
  EXPECT_FALSE(page.console.empty());
  EXPECT_EQ(attribute_of(page.dom, "<html", "data-drawn"), "");
}

}  // namespace
}  // namespace orthros::test
