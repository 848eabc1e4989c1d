// Builds the page of `serve`.
#include "sim/report/serve_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "sim/cli/cost_report.hpp"
#include "sim/report/scenario_facts.hpp"

namespace orthros::report {
namespace {

using cli::ServeOutcome;
using cli::ServeScenario;

using Track = std::vector<double> Timeline::*;

// A quantity over time, a line per architecture. Every bucket is a step that holds until the next.
Chart time_chart(const ServeScenario& s, const char* id, const char* title, const char* caption,
                 const Axis& y, Track track) {
  LineChart lines;
  lines.x = {"Time", Quantity::seconds};
  lines.y = y;
  lines.stepped = true;
  for (const ServeOutcome& outcome : s.outcomes) {
    const Timeline& timeline = outcome.result.timeline;
    Series series{outcome.arch, arch_colour(outcome.arch), {}};
    const auto& values = timeline.*track;
    for (size_t i = 0; i < values.size(); ++i) {
      series.points.push_back({static_cast<double>(i) * timeline.bucket_s, values[i]});
    }
    series.points.push_back({static_cast<double>(values.size()) * timeline.bucket_s, 0.0});
    lines.series.push_back(std::move(series));
  }
  Chart chart{id, title, caption, std::move(lines)};
  chart.wide = true;
  return chart;
}

// What all engines together can hold: one line where the architectures' budgets are near enough to
// be seen as one.
void mark_capacity(Chart& chart, const ServeScenario& s) {
  constexpr double seen_as_one = 0.02;
  auto& marks = std::get<LineChart>(chart.body).marks;
  for (const ServeOutcome& outcome : s.outcomes) {
    const double capacity = static_cast<double>(outcome.result.kv_capacity_bytes) *
                            static_cast<double>(outcome.result.engines);
    const bool marked = std::any_of(marks.begin(), marks.end(), [&](const Mark& mark) {
      return std::abs(mark.at - capacity) <= seen_as_one * capacity;
    });
    if (marked) continue;
    marks.push_back(
        {Mark::Across::y, capacity, marks.empty() ? "KV budget" : "KV budget of " + outcome.arch});
  }
}

using Latency = std::optional<double> (*)(const RequestRecord&);

// Share of the completed requests that took at most so long.
Chart share_chart(const ServeScenario& s, const char* id, const char* title, const char* x_title,
                  Latency latency, const std::optional<double>& objective) {
  constexpr size_t most_points = 200;
  LineChart lines;
  lines.x = {x_title, Quantity::seconds, Scale::logarithmic};
  lines.y = {"Share of requests", Quantity::share};
  for (const ServeOutcome& outcome : s.outcomes) {
    std::vector<double> times;
    for (const RequestRecord& record : outcome.result.requests) {
      if (record.status != RequestRecord::Status::completed) continue;
      const auto time = latency(record);
      if (time && *time > 0.0) times.push_back(*time);
    }
    if (times.empty()) continue;
    std::sort(times.begin(), times.end());
    Series series{outcome.arch, arch_colour(outcome.arch), {}};
    const size_t points = std::min(most_points, times.size());
    for (size_t i = 0; i < points; ++i) {
      const size_t rank = points == 1 ? 0 : i * (times.size() - 1) / (points - 1);
      series.points.push_back(
          {times[rank], static_cast<double>(rank + 1) / static_cast<double>(times.size())});
    }
    lines.series.push_back(std::move(series));
  }
  if (objective) lines.marks.push_back({Mark::Across::x, *objective, "objective"});
  return {id, title, "Of the completed requests, those that took at most so long.",
          std::move(lines)};
}

// What a request waits for, on average: the queue, its prefill, its decode.
Chart stage_chart(const ServeScenario& s) {
  StackChart chart;
  chart.value = {"Mean of the completed requests", Quantity::seconds};
  chart.segments = {{"in the queue", "--op-software-0", {}},
                    {"until the first token", "--op-gemm-1", {}},
                    {"until the last token", "--op-attention-1", {}}};
  for (const ServeOutcome& outcome : s.outcomes) {
    const ServeSummary& summary = outcome.summary;
    if (!summary.wait_s.mean || !summary.ttft_s.mean || !summary.e2e_s.mean) continue;
    chart.bars.push_back(outcome.arch);
    chart.segments[0].values.push_back(*summary.wait_s.mean);
    chart.segments[1].values.push_back(*summary.ttft_s.mean - *summary.wait_s.mean);
    chart.segments[2].values.push_back(*summary.e2e_s.mean - *summary.ttft_s.mean);
  }
  return {"stages", "Where a request's time goes",
          "From its arrival: waiting to be let in, its prefill beside other work, its decode.",
          std::move(chart)};
}

std::vector<Page::Headline> headlines(const ServeScenario& s) {
  constexpr size_t most = 4;
  std::vector<Page::Headline> list;
  for (const ServeOutcome& outcome : s.outcomes) {
    if (list.size() == most) break;
    const ServeSummary& summary = outcome.summary;
    if (!summary.ttft_s.p50 || !summary.ttft_s.p99) continue;
    std::string text = fmt::format("{}: median time to first token; {} at the 99th percentile",
                                   outcome.arch, cli::seconds_text(*summary.ttft_s.p99));
    if (summary.output_tokens_per_s) {
      text += fmt::format(", {:.4g} output tokens a second", *summary.output_tokens_per_s);
    }
    list.push_back({cli::seconds_text(*summary.ttft_s.p50), text, arch_colour(outcome.arch)});
  }
  return list;
}

bool is_empty(const Chart& chart) {
  if (const auto* lines = std::get_if<LineChart>(&chart.body)) return lines->series.empty();
  if (const auto* stack = std::get_if<StackChart>(&chart.body)) return stack->bars.empty();
  return false;
}

}  // namespace

Page serve_page(const ServeScenario& s) {
  Page page;
  page.verb = "serve";
  std::vector<std::string> architectures;
  for (const ServeOutcome& outcome : s.outcomes) architectures.push_back(outcome.arch);
  page.title = fmt::format("{} under traffic: {}", s.model, fmt::join(architectures, ", "));
  page.asked = {{"Model", s.model}, {"Traffic", s.question.traffic}, {"Engines", engines_text(s)}};
  for (auto& fact : deployment_facts(s.hardware, s.deployment, s.profile)) {
    page.asked.push_back(std::move(fact));
  }
  const Slo& slo = s.question.slo;
  if (slo.ttft_s) page.asked.push_back({"TTFT objective", cli::seconds_text(*slo.ttft_s)});
  if (slo.tpot_s) page.asked.push_back({"TPOT objective", cli::seconds_text(*slo.tpot_s)});
  page.warnings.push_back(cli::profile_line(s.profile, s.hardware));
  for (std::string& line : serve_warnings(s)) page.warnings.push_back(std::move(line));
  page.headlines = headlines(s);

  page.charts.push_back(time_chart(s, "kv", "KV cache held over time",
                                   "By running sequences, over all engines, one GPU of each.",
                                   {"KV held", Quantity::bytes}, &Timeline::kv_bytes));
  mark_capacity(page.charts.back(), s);
  page.charts.push_back(time_chart(s, "queue", "Requests waiting over time",
                                   "Arrived and not let in yet, over all engines.",
                                   {"Requests waiting", Quantity::count}, &Timeline::waiting));
  page.charts.push_back(time_chart(s, "running", "Requests running over time",
                                   "In prefill or decode, over all engines.",
                                   {"Requests running", Quantity::count}, &Timeline::running));
  page.charts.push_back(stage_chart(s));
  page.charts.push_back(share_chart(
      s, "first-token", "How soon the first token comes", "Time to first token",
      [](const RequestRecord& r) { return std::optional(r.first_token_s - r.arrival_s); },
      slo.ttft_s));
  page.charts.push_back(share_chart(s, "per-token", "How fast tokens follow",
                                    "Time per output token", tpot_of, slo.tpot_s));
  page.charts.push_back(share_chart(
      s, "end-to-end", "How soon the last token comes", "End to end",
      [](const RequestRecord& r) { return std::optional(r.finish_s - r.arrival_s); },
      std::nullopt));
  std::erase_if(page.charts, is_empty);
  page.tables.push_back({"Latency", latency_table(s)});
  page.tables.push_back({"Totals", totals_table(s)});
  page.notes = {
      "Lines over time are averages of equal intervals, at most 512 of them.",
      "Above 90 % utilisation waits grow without bound, and small errors of a step's time decide "
      "them."};
  return page;
}

}  // namespace orthros::report
