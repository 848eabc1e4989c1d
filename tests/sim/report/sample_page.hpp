// A page with a chart of each kind, whose every text is `name`.
#pragma once

#include <string>

#include "sim/report/page.hpp"

namespace orthros::test {

inline report::Page sample_page(const std::string& name) {
  using namespace orthros::report;
  LineChart lines;
  lines.x = {name, Quantity::seconds};
  lines.y = {name, Quantity::count};
  lines.series = {{name, arch_colour(name), {{0, 1}, {1, 3}, {2, 2, true}}}};
  lines.marks = {{Mark::Across::x, 1.0, name}, {Mark::Across::y, 2.0, name}};
  lines.stepped = true;
  lines.doubt = name;
  StackChart stack;
  stack.value = {name, Quantity::seconds};
  stack.bars = {name};
  stack.segments = {{name, arch_colour(name), {2.0}}};
  HeatMap map;
  map.x = {name, Quantity::tokens};
  map.y = {name, Quantity::tokens};
  map.columns = {1, 2};
  map.rows = {4};
  map.layers = {{name, {{{0.5, true}, {2.0}}}}, {name, {{{1.0}, {}}}}};
  map.doubt = name;
  Page page;
  page.verb = page.title = page.command = name;
  page.headlines = {{name, name, arch_colour(name)}};
  page.asked = {{name, name}};
  page.warnings = page.notes = {name};
  page.charts = {
      {"lines", name, name, lines}, {"stack", name, name, stack}, {"heatmap", name, name, map}};
  cli::TextTable table({name, name});
  table.add({name, "1"});
  page.tables.push_back({name, table});
  return page;
}

}  // namespace orthros::test
