// A page as text: nothing leaves its element, nothing asks the network.
#include "sim/report/page.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "reference/spec/input_error.hpp"
#include "sim/report/chart_library.hpp"
#include "tests/sim/report/sample_page.hpp"

namespace orthros::report {
namespace {

constexpr const char* hostile = "\"'></script></td><img src=x onerror=alert(1)><!--&amp;";

size_t count_of(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++count;
  return count;
}

TEST(report_page, a_hostile_name_adds_no_markup) {
  const std::string tame = page_html(test::sample_page("tame"), "library");
  const std::string html = page_html(test::sample_page(hostile), "library");
  for (const char* markup : {"<", "<script", "</script>", "<img", "<!--", "<td", "</td>"}) {
    EXPECT_EQ(count_of(html, markup), count_of(tame, markup)) << markup;
  }
  EXPECT_EQ(count_of(html, "onerror=alert"), count_of(html, "&gt;&lt;img src=x onerror=alert") +
                                                 count_of(html, ">\\u003cimg src=x onerror=alert"));
}

TEST(report_page, the_data_of_its_charts_parses_and_holds_each) {
  const std::string html = page_html(test::sample_page(hostile), "library");
  const std::string opening = "id=\"charts\">";
  const size_t first = html.find(opening) + opening.size();
  const auto json =
      nlohmann::json::parse(html.substr(first, html.find("</script>", first) - first));
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0]["kind"], "lines");
  EXPECT_EQ(json[1]["kind"], "stack");
  EXPECT_EQ(json[2]["kind"], "heatmap");
  EXPECT_EQ(json[0]["title"], hostile);
}

TEST(report_page, it_names_no_address_and_forbids_the_network) {
  const std::string html = page_html(test::sample_page("name"), "library");
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
  for (const char* address : {"http:", "https:", "src=", "href=", "url(", "@import", "fetch("}) {
    EXPECT_EQ(html.find(address), std::string::npos) << address;
  }
}

TEST(report_page, its_figures_can_be_read_without_a_script) {
  const std::string html = page_html(test::sample_page("name"), "library");
  const std::string body = html.substr(0, html.find("<script"));
  for (const char* figure : {"0.5×", "2×", "2 s"}) {
    EXPECT_NE(body.find(figure), std::string::npos) << figure;
  }
  EXPECT_EQ(count_of(body, "<canvas"), 3u);
  EXPECT_EQ(count_of(body, "<table"), 5u);  // lines, stack, two layers, the page's own
}

class chart_library_variable : public testing::Test {
 protected:
  void set(const std::filesystem::path& path) {
    constexpr int over_what_is_set = 1;
    setenv("ORTHROS_CHART_JS", path.c_str(), over_what_is_set);
  }
  void TearDown() override { unsetenv("ORTHROS_CHART_JS"); }
};

TEST_F(chart_library_variable, names_the_file_that_is_read) {
  const auto path = std::filesystem::temp_directory_path() / "orthros_chart_library_test.js";
  std::ofstream(path) << "/* Chart.js */";
  set(path);
  EXPECT_EQ(chart_library(), "/* Chart.js */");
  std::ofstream(path) << "something else";
  EXPECT_THROW(chart_library(), InputError);
  std::filesystem::remove(path);
}

TEST_F(chart_library_variable, without_a_file_says_which_package_to_install) {
  for (const char* path : {"/no/such/chart.js", "/", ""}) {
    set(path);
    try {
      chart_library();
      FAIL() << path;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("libjs-chart.js"), std::string::npos);
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace orthros::report
