// Chart: one picture of a page, as data. The page's script draws it, its table shows it in HTML.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/cli/text_table.hpp"
#include "sim/report/quantity.hpp"

namespace orthros::report {

enum class Scale { linear, logarithmic };  // logarithmic: values above 0 only

struct Axis {
  std::string title;  // without the unit where the ticks carry it
  Quantity quantity = Quantity::count;
  Scale scale = Scale::linear;
};

// A colour by its name in the page's style sheet, "--arch-orthros": light and dark pages, and every
// chart of a page, show the same thing in the same hue.
using Colour = std::string;
Colour arch_colour(const std::string& architecture);

// `y` absent: no such figure, the line has a gap. `doubtful`: drawn hollow (does not fit, say).
struct Point {
  double x = 0.0;
  std::optional<double> y;
  bool doubtful = false;
};

struct Series {
  std::string name;
  Colour colour;
  std::vector<Point> points;  // ascending in x
  int dash = 0;               // lines of one colour differ by it
};

// A straight line across the chart, with a word beside it.
struct Mark {
  enum class Across { x, y };
  Across axis = Across::x;
  double at = 0.0;
  std::string label;
};

struct LineChart {
  Axis x, y;
  std::vector<Series> series;
  std::vector<Mark> marks;
  bool stepped = false;  // a value holds until the next
  std::string doubt;     // what a hollow point means
};

// Horizontal bars, one of each name, made of segments.
struct StackChart {
  struct Segment {
    std::string name;
    Colour colour;
    std::vector<double> values;  // as many as bars
  };
  Axis value;
  std::vector<std::string> bars;
  std::vector<Segment> segments;
  std::vector<Mark> marks;
};

// Cells over columns (x) and rows (y), one layer shown at a time.
struct HeatMap {
  struct Cell {
    std::optional<double> value;
    bool doubtful = false;
  };
  struct Layer {
    std::string name;
    std::vector<std::vector<Cell>> rows;  // rows x columns
  };
  Axis x, y;
  std::vector<double> columns, rows;  // ascending
  Quantity quantity = Quantity::ratio;
  bool around_one = true;  // colours part at 1; else they go from least to most
  std::vector<Layer> layers;
  std::optional<std::pair<double, double>> asked;  // outlined: a column's and a row's value
  std::string doubt;
};

struct Chart {
  std::string id;  // [a-z0-9-]
  std::string title;
  std::string caption;  // one or two sentences under the title
  std::variant<LineChart, StackChart, HeatMap> body;
  bool wide = false;  // takes the page's whole width
};

// What the page's script reads. Never NaN or infinity: null.
nlohmann::ordered_json to_json(const Chart& chart);
// The chart's figures: one table, or one per layer of a heat map, each with a title.
std::vector<std::pair<std::string, cli::TextTable>> tables_of(const Chart& chart);

}  // namespace orthros::report
