// Writes charts as JSON and as tables.
#include "sim/report/chart.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <string_view>

namespace orthros::report {
namespace {

using Json = nlohmann::ordered_json;

Json figure(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json axis_json(const Axis& axis) {
  return {{"title", axis.title},
          {"quantity", name_of(axis.quantity)},
          {"scale", axis.scale == Scale::logarithmic ? "logarithmic" : "linear"}};
}

Json marks_json(const std::vector<Mark>& marks) {
  Json list = Json::array();
  for (const Mark& mark : marks) {
    list.push_back({{"axis", mark.axis == Mark::Across::x ? "x" : "y"},
                    {"at", figure(mark.at)},
                    {"label", mark.label}});
  }
  return list;
}

void put(Json& json, const LineChart& chart) {
  json["kind"] = "lines";
  json["x"] = axis_json(chart.x);
  json["y"] = axis_json(chart.y);
  json["stepped"] = chart.stepped;
  json["doubt"] = chart.doubt;
  json["marks"] = marks_json(chart.marks);
  json["series"] = Json::array();
  for (const Series& series : chart.series) {
    Json points = Json::array();
    for (const Point& point : series.points) {
      points.push_back({point.x, figure(point.y), point.doubtful});
    }
    json["series"].push_back({{"name", series.name},
                              {"colour", series.colour},
                              {"dash", series.dash},
                              {"points", std::move(points)}});
  }
}

void put(Json& json, const StackChart& chart) {
  json["kind"] = "stack";
  json["value"] = axis_json(chart.value);
  json["bars"] = chart.bars;
  json["marks"] = marks_json(chart.marks);
  json["segments"] = Json::array();
  for (const StackChart::Segment& segment : chart.segments) {
    Json values = Json::array();
    for (const double value : segment.values) values.push_back(figure(value));
    json["segments"].push_back(
        {{"name", segment.name}, {"colour", segment.colour}, {"values", std::move(values)}});
  }
}

void put(Json& json, const HeatMap& chart) {
  json["kind"] = "heatmap";
  json["x"] = axis_json(chart.x);
  json["y"] = axis_json(chart.y);
  json["columns"] = chart.columns;
  json["rows"] = chart.rows;
  json["quantity"] = name_of(chart.quantity);
  json["aroundOne"] = chart.around_one;
  json["doubt"] = chart.doubt;
  json["asked"] = chart.asked ? Json({chart.asked->first, chart.asked->second}) : Json(nullptr);
  json["layers"] = Json::array();
  for (const HeatMap::Layer& layer : chart.layers) {
    Json values = Json::array();
    Json doubts = Json::array();
    for (const auto& row : layer.rows) {
      Json row_values = Json::array();
      Json row_doubts = Json::array();
      for (const HeatMap::Cell& cell : row) {
        row_values.push_back(figure(cell.value));
        row_doubts.push_back(cell.doubtful);
      }
      values.push_back(std::move(row_values));
      doubts.push_back(std::move(row_doubts));
    }
    json["layers"].push_back(
        {{"name", layer.name}, {"values", std::move(values)}, {"doubts", std::move(doubts)}});
  }
}

using Tables = std::vector<std::pair<std::string, cli::TextTable>>;

std::string cell_text(Quantity quantity, const std::optional<double>& value, bool doubtful) {
  if (!value) return "n/a";
  return text_of(quantity, *value) + (doubtful ? " *" : "");
}

// The last point at or before x; nullptr where the line begins later.
const Point* point_before(const Series& series, double x) {
  const auto after = std::upper_bound(series.points.begin(), series.points.end(), x,
                                      [](double at, const Point& point) { return at < point.x; });
  return after == series.points.begin() ? nullptr : &*std::prev(after);
}

// A row for every x of any line. Of more than people read, an even choice, each line then by its
// last point up to there.
void put(Tables& tables, const LineChart& chart) {
  constexpr size_t most_rows = 64;
  std::vector<std::string> header = {chart.x.title};
  std::set<double> all;
  for (const Series& series : chart.series) {
    header.push_back(series.name);
    for (const Point& point : series.points) all.insert(point.x);
  }
  std::vector<double> rows(all.begin(), all.end());
  const bool chosen = rows.size() > most_rows;
  if (chosen) {
    for (size_t i = 0; i < most_rows; ++i) rows[i] = rows[i * (rows.size() - 1) / (most_rows - 1)];
    rows.resize(most_rows);
  }
  cli::TextTable table(header);
  for (const double x : rows) {
    std::vector<std::string> row = {text_of(chart.x.quantity, x)};
    for (const Series& series : chart.series) {
      const Point* point = point_before(series, x);
      const bool shown = point != nullptr && (chosen || point->x == x);
      row.push_back(shown ? cell_text(chart.y.quantity, point->y, point->doubtful) : "");
    }
    table.add(row);
  }
  tables.emplace_back(chart.y.title, std::move(table));
}

void put(Tables& tables, const StackChart& chart) {
  std::vector<std::string> header = {""};
  header.insert(header.end(), chart.bars.begin(), chart.bars.end());
  cli::TextTable table(header);
  for (const StackChart::Segment& segment : chart.segments) {
    std::vector<std::string> row = {segment.name};
    for (const double value : segment.values) row.push_back(text_of(chart.value.quantity, value));
    table.add(row);
  }
  tables.emplace_back(chart.value.title, std::move(table));
}

void put(Tables& tables, const HeatMap& chart) {
  for (const HeatMap::Layer& layer : chart.layers) {
    std::vector<std::string> header = {chart.y.title + " \\ " + chart.x.title};
    for (const double column : chart.columns) header.push_back(text_of(chart.x.quantity, column));
    cli::TextTable table(header);
    for (size_t i = 0; i < chart.rows.size(); ++i) {
      std::vector<std::string> row = {text_of(chart.y.quantity, chart.rows[i])};
      for (const HeatMap::Cell& cell : layer.rows[i]) {
        row.push_back(cell_text(chart.quantity, cell.value, cell.doubtful));
      }
      table.add(row);
    }
    tables.emplace_back(layer.name, std::move(table));
  }
}

}  // namespace

Colour arch_colour(const std::string& architecture) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyz-";
  if (architecture.find_first_not_of(plain) != std::string::npos) return "--arch-other";
  return "--arch-" + architecture;
}

Json to_json(const Chart& chart) {
  Json json;
  json["id"] = chart.id;
  json["title"] = chart.title;
  std::visit([&](const auto& body) { put(json, body); }, chart.body);
  return json;
}

Tables tables_of(const Chart& chart) {
  Tables tables;
  std::visit([&](const auto& body) { put(tables, body); }, chart.body);
  return tables;
}

}  // namespace orthros::report
