// Charts as JSON and as tables.
#include "sim/report/chart.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace orthros::report {
namespace {

LineChart two_lines() {
  LineChart lines;
  lines.x = {"Input tokens", Quantity::tokens, Scale::logarithmic};
  lines.y = {"Seconds", Quantity::seconds, Scale::logarithmic};
  lines.series = {{"a", "--arch-a", {{1024, 0.5}, {2048, 1.0, true}}},
                  {"b", "--arch-b", {{1024, 2.0}, {4096, std::nullopt}}, 1}};
  return lines;
}

TEST(report_chart, lines_keep_points_colours_and_what_is_doubtful) {
  const auto json = to_json(Chart{"id", "Title", "", two_lines()});
  EXPECT_EQ(json["kind"], "lines");
  EXPECT_EQ(json["id"], "id");
  EXPECT_EQ(json["x"]["scale"], "logarithmic");
  EXPECT_EQ(json["y"]["quantity"], "seconds");
  ASSERT_EQ(json["series"].size(), 2u);
  EXPECT_EQ(json["series"][0]["colour"], "--arch-a");
  EXPECT_EQ(json["series"][1]["dash"], 1);
  EXPECT_EQ(json["series"][0]["points"][1], nlohmann::ordered_json({2048.0, 1.0, true}));
  EXPECT_TRUE(json["series"][1]["points"][1][1].is_null());
}

TEST(report_chart, a_table_of_lines_has_a_row_for_every_x_of_any_line) {
  const auto tables = tables_of(Chart{"id", "Title", "", two_lines()});
  ASSERT_EQ(tables.size(), 1u);
  const auto& rows = tables[0].second.rows();
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0], (std::vector<std::string>{"Input tokens", "a", "b"}));
  EXPECT_EQ(rows[1], (std::vector<std::string>{"1K", "500 ms", "2 s"}));
  EXPECT_EQ(rows[2], (std::vector<std::string>{"2K", "1 s *", ""}));
  EXPECT_EQ(rows[3], (std::vector<std::string>{"4K", "", "n/a"}));
}

TEST(report_chart, a_table_of_many_points_has_a_choice_of_rows_from_first_to_last) {
  LineChart lines;
  lines.x = {"Time", Quantity::count};
  lines.y = {"Level", Quantity::count};
  lines.series = {{"long", "--arch-a", {}}, {"late", "--arch-b", {{500, 7}}}};
  for (int i = 0; i <= 1000; ++i) {
    lines.series[0].points.push_back({static_cast<double>(i), 2.0 * i});
  }
  const auto tables = tables_of(Chart{"id", "", "", lines});
  const auto& rows = tables[0].second.rows();
  EXPECT_LT(rows.size(), 100u);
  EXPECT_EQ(rows[1], (std::vector<std::string>{"0", "0", ""}));
  EXPECT_EQ(rows.back(), (std::vector<std::string>{"1000", "2000", "7"}));
  for (size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(std::stod(rows[i][1]), 2.0 * std::stod(rows[i][0]));
  }
}

TEST(report_chart, what_is_not_finite_becomes_null) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  StackChart stack;
  stack.value = {"Bytes", Quantity::bytes};
  stack.bars = {"x", "y"};
  stack.segments = {{"s", "--op-kv", {infinity, std::nan("")}}};
  const auto json = to_json(Chart{"id", "", "", stack});
  EXPECT_TRUE(json["segments"][0]["values"][0].is_null());
  EXPECT_TRUE(json["segments"][0]["values"][1].is_null());
  EXPECT_EQ(tables_of(Chart{"id", "", "", stack})[0].second.rows()[1][1], "n/a");
}

TEST(report_chart, a_heat_map_has_a_table_for_each_layer) {
  HeatMap map;
  map.x = {"Input", Quantity::tokens};
  map.y = {"Output", Quantity::tokens};
  map.columns = {1024, 1048576};
  map.rows = {16};
  map.asked = {1024, 16};
  map.layers = {{"one", {{{1.5, false}, {2.0, true}}}}, {"two", {{{std::nullopt, false}, {}}}}};
  const auto json = to_json(Chart{"id", "", "", map});
  EXPECT_EQ(json["layers"][0]["values"], nlohmann::ordered_json::parse("[[1.5, 2.0]]"));
  EXPECT_EQ(json["layers"][0]["doubts"], nlohmann::ordered_json::parse("[[false, true]]"));
  EXPECT_EQ(json["layers"][1]["values"], nlohmann::ordered_json::parse("[[null, null]]"));
  EXPECT_EQ(json["asked"], nlohmann::ordered_json::parse("[1024, 16]"));
  const auto tables = tables_of(Chart{"id", "", "", map});
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].first, "one");
  EXPECT_EQ(tables[0].second.rows()[0][2], "1M");
  EXPECT_EQ(tables[0].second.rows()[1], (std::vector<std::string>{"16", "1.5×", "2× *"}));
}

TEST(report_quantity, values_read_with_their_units) {
  EXPECT_EQ(text_of(Quantity::tokens, 131072), "128K");
  EXPECT_EQ(text_of(Quantity::tokens, 300), "300");
  EXPECT_EQ(text_of(Quantity::share, 0.125), "12.5 %");
  EXPECT_EQ(text_of(Quantity::bytes, 1073741824.0), "1.00 GiB (1.07 GB)");
  EXPECT_EQ(text_of(Quantity::rate, 173), "173/s");
  EXPECT_EQ(text_of(Quantity::count, 12), "12");
  EXPECT_EQ(text_of(Quantity::seconds, std::nan("")), "n/a");
}

}  // namespace
}  // namespace orthros::report
