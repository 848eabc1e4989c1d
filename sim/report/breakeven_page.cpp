// Builds the page of `breakeven`.
#include "sim/report/breakeven_page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/spec/size_text.hpp"
#include "sim/cli/cost_report.hpp"
#include "sim/report/cost_charts.hpp"
#include "sim/report/scenario_facts.hpp"

namespace orthros::report {
namespace {

using Value = std::optional<double> (*)(const BreakEvenRow&);

Chart line_chart(const BreakEvenScenario& s, const char* id, const char* title,
                 const std::string& caption, const Axis& y, Value value) {
  LineChart lines;
  lines.x = axis_of(Along::input);
  lines.y = y;
  Series series{s.faster, arch_colour(s.faster), {}};
  for (const BreakEvenRow& row : s.rows) {
    series.points.push_back({static_cast<double>(row.input), value(row)});
  }
  lines.series.push_back(std::move(series));
  return {id, title, caption, std::move(lines)};
}

std::optional<double> number(const std::optional<int64_t>& value) {
  if (!value) return std::nullopt;
  return static_cast<double>(*value);
}

Chart output_chart(const BreakEvenScenario& s) {
  Chart chart = line_chart(
      s, "break-even-output", "Longest output that still pays",
      fmt::format("Up to this many output tokens {} ends {} times sooner than {}, batch {}.",
                  s.faster, s.gain, s.slower, s.batch),
      axis_of(Along::output), [](const BreakEvenRow& row) { return number(row.output); });
  auto& lines = std::get<LineChart>(chart.body);
  lines.doubt = fmt::format("{} or more: none longer was tried", size_text(s.limit));
  for (Point& point : lines.series.front().points) {
    point.doubtful = point.y && *point.y >= static_cast<double>(s.limit);
  }
  return chart;
}

Chart gain_chart(const BreakEvenScenario& s) {
  const System systems[] = {{s.slower, s.slower, s.slower_cost, &s.hardware, 0},
                            {s.faster, s.faster, s.faster_cost, &s.hardware, 0}};
  Range inputs{Along::input, {}};
  for (const BreakEvenRow& row : s.rows) inputs.values.push_back(row.input);
  inputs.values = thinned(inputs.values, most_columns);
  Range outputs{Along::output, {}};
  constexpr int64_t factor = 4;
  for (int64_t output = 1; output <= s.limit; output *= factor) outputs.values.push_back(output);
  return {
      "gain", fmt::format("Gain over {} by input and output length", s.slower),
      fmt::format("End-to-end time of {} over that of {}, batch {}.", s.slower, s.faster, s.batch),
      gain_map(systems, inputs, outputs, {0, 0, s.batch})};
}

}  // namespace

Page breakeven_page(const BreakEvenScenario& s, cli::TextTable table) {
  Page page;
  page.verb = "breakeven";
  page.title = fmt::format("{}: where {} pays off against {}", s.model, s.faster, s.slower);
  page.asked = {{"Model", s.model},
                {"Batch", size_fact(s.batch)},
                {"Gain that pays", fmt::format("{}×", s.gain)},
                {"Slack of a decode step", text_of(Quantity::share, s.slack)}};
  for (auto& fact : deployment_facts(s.hardware, s.deployment, s.profile)) {
    page.asked.push_back(std::move(fact));
  }
  page.warnings.push_back(cli::profile_line(s.profile, s.hardware));
  page.charts.push_back(output_chart(s));
  page.charts.push_back(gain_chart(s));
  page.charts.push_back(line_chart(
      s, "free-rows-batch", "Batch at which decode's doubled rows stop being free",
      fmt::format("From this batch on a decode step of {} takes over {} more than one of {}.",
                  s.faster, text_of(Quantity::share, s.slack), s.slower),
      axis_of(Along::batch), [](const BreakEvenRow& row) { return number(row.batch); }));
  page.charts.push_back(line_chart(
      s, "repaying-requests", "Requests that repay training",
      fmt::format("Requests of this input and {} output tokens after which the FLOPs saved in "
                  "serving equal those that training took more.",
                  size_text(s.output)),
      {"Requests", Quantity::count, Scale::logarithmic},
      [](const BreakEvenRow& row) { return row.requests; }));
  // A line with no point at all has nothing to show; its column of the table says n/a.
  std::erase_if(page.charts, [](const Chart& chart) {
    const auto* lines = std::get_if<LineChart>(&chart.body);
    return lines != nullptr &&
           std::none_of(lines->series.front().points.begin(), lines->series.front().points.end(),
                        [](const Point& point) { return point.y && *point.y > 0.0; });
  });
  page.tables.push_back({"By input length", std::move(table)});
  page.notes = {
      "A figure that does not exist (it never pays, or there is none up to the limit) is "
      "n/a, and no point.",
      "Seconds are the profile's, without any queue; training FLOPs are three forwards."};
  return page;
}

}  // namespace orthros::report
