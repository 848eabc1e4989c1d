// Builds the page of `cost`.
#include "sim/report/cost_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reference/spec/size_text.hpp"
#include "sim/report/cost_charts.hpp"
#include "sim/report/op_chart.hpp"
#include "sim/report/scenario_facts.hpp"

namespace orthros::report {
namespace {

using cli::CostResult;
using cli::CostScenario;

// Powers of `factor` from `first` to `last` and what was asked, which takes the place of powers so
// close that their marks would overlap.
std::vector<int64_t> lengths(int64_t first, int64_t last, int64_t factor, int64_t asked) {
  constexpr double close = 1.25;
  std::vector<int64_t> list;
  for (int64_t at = first; at <= last; at *= factor) {
    const double ratio = static_cast<double>(at) / static_cast<double>(std::max<int64_t>(asked, 1));
    if (asked == 0 || ratio > close || ratio < 1.0 / close) list.push_back(at);
  }
  if (asked > 0) list.push_back(asked);
  std::sort(list.begin(), list.end());
  return list;
}

std::vector<System> systems_of(const CostScenario& s, std::span<const StepCost> costs,
                               size_t base) {
  std::vector<System> systems;
  for (size_t i = 0; i < costs.size(); ++i) {
    systems.push_back({label_of(s.results[i]), s.results[i].arch, &costs[i], &s.hardware, base});
  }
  return systems;
}

Chart time_chart(const CostScenario& s, std::span<const System> systems, const char* id,
                 const char* title, const std::string& caption, const char* y_title,
                 Figure figure) {
  LineChart lines =
      cost_lines(systems, {Along::input, lengths(1 << 10, 1 << 20, 2, s.request.input)}, s.request,
                 {y_title, Quantity::seconds, Scale::logarithmic}, figure);
  lines.marks.push_back({Mark::Across::x, static_cast<double>(s.request.input), "asked"});
  return {id, title, caption, std::move(lines)};
}

Chart heat_chart(const CostScenario& s, std::span<const System> systems, size_t base) {
  HeatMap map = gain_map(systems, {Along::input, lengths(1 << 10, 1 << 20, 2, s.request.input)},
                         {Along::output, lengths(1, 1 << 14, 4, s.request.output)}, s.request);
  if (s.request.output > 0) {
    map.asked = {static_cast<double>(s.request.input), static_cast<double>(s.request.output)};
  }
  const std::string about =
      map.around_one
          ? fmt::format("End-to-end time of {} over that of the architecture shown, batch {}.",
                        s.results[base].arch, s.request.batch)
          : fmt::format("Batch {}.", s.request.batch);
  const std::string title =
      map.around_one ? fmt::format("Gain over {} by input and output length", s.results[base].arch)
                     : "End-to-end time by input and output length";
  return {"gain", title, about + (map.asked ? " The outlined cell was asked for." : ""),
          std::move(map)};
}

Chart memory_chart(const CostScenario& s) {
  StackChart chart;
  chart.value = {"Bytes on one GPU", Quantity::bytes};
  chart.segments = {{"weights", "--op-weights", {}},
                    {"KV cache", "--op-kv", {}},
                    {"recurrent state", "--op-state", {}}};
  for (const CostResult& result : s.results) {
    chart.bars.push_back(label_of(result));
    const Memory& memory = result.point.memory;
    chart.segments[0].values.push_back(static_cast<double>(memory.weights));
    chart.segments[1].values.push_back(static_cast<double>(memory.kv));
    chart.segments[2].values.push_back(static_cast<double>(memory.state));
  }
  chart.marks.push_back(
      {Mark::Across::x, static_cast<double>(s.hardware.memory_bytes), "the GPU's memory"});
  return {"memory", "Memory when the last token is out",
          "Weights, keys and values of every sequence, recurrent states; activations come on top.",
          std::move(chart)};
}

// Empty where everything fits.
std::string too_large(const CostScenario& s) {
  std::vector<std::string> list;
  for (const CostResult& result : s.results) {
    if (result.point.fits) continue;
    list.push_back(fmt::format("{} needs {}", label_of(result),
                               cli::bytes_text(static_cast<double>(result.point.memory.total))));
  }
  if (list.empty()) return "";
  return fmt::format("does not fit on a GPU of {}: {}",
                     cli::bytes_text(static_cast<double>(s.hardware.memory_bytes)),
                     fmt::join(list, ", "));
}

std::vector<Page::Headline> headlines(const CostScenario& s, size_t base) {
  constexpr size_t most = 4;
  std::vector<Page::Headline> list;
  const auto add = [&](size_t i) {
    const CostLatency& latency = s.results[i].point.latency;
    std::string text = fmt::format("{} end to end, {} to the first token", label_of(s.results[i]),
                                   cli::seconds_text(latency.ttft_s));
    if (i != base) {
      text += "; " + faster_than(s.results[base].point.latency.e2e_s / latency.e2e_s,
                                 s.results[base].arch);
    }
    list.push_back({cli::seconds_text(latency.e2e_s), text, arch_colour(s.results[i].arch)});
  };
  add(base);
  for (size_t i = 0; i < s.results.size() && list.size() < most; ++i) {
    if (i != base) add(i);
  }
  return list;
}

}  // namespace

Page cost_page(const CostScenario& s, std::span<const StepCost> costs) {
  std::vector<std::string> architectures;
  for (const CostResult& result : s.results) architectures.push_back(result.arch);
  const size_t base = base_of(architectures);
  Page page;
  page.verb = "cost";
  page.title = fmt::format("{}: {} in, {} out, batch {}", s.model, size_text(s.request.input),
                           size_text(s.request.output), s.request.batch);
  page.asked = {{"Model", s.model},
                {"Input", size_fact(s.request.input)},
                {"Output", size_fact(s.request.output)},
                {"Batch", size_fact(s.request.batch)}};
  for (auto& fact : deployment_facts(s.hardware, s.deployment, s.profile)) {
    page.asked.push_back(std::move(fact));
  }
  page.warnings.push_back(cli::profile_line(s.profile, s.hardware));
  if (std::string text = too_large(s); !text.empty()) page.warnings.push_back(std::move(text));
  page.headlines = headlines(s, base);
  const std::vector<System> systems = systems_of(s, costs, base);

  const std::string load =
      fmt::format("{} tokens out, batch {}.", size_text(s.request.output), s.request.batch);
  page.charts.push_back(time_chart(
      s, systems, "end-to-end", "End-to-end time against input length", load, "End to end",
      [](const CostLatency& latency) { return std::optional(latency.e2e_s); }));
  page.charts.push_back(heat_chart(s, systems, base));
  page.charts.push_back(time_chart(
      s, systems, "first-token", "Time to first token against input length",
      fmt::format("Batch {}, prefilled together.", s.request.batch), "Time to first token",
      [](const CostLatency& latency) { return std::optional(latency.ttft_s); }));
  if (s.request.output > 1) {
    page.charts.push_back(time_chart(
        s, systems, "per-token", "Time per output token against input length", load,
        "Time per output token", [](const CostLatency& latency) { return latency.tpot_s; }));
  }
  page.charts.push_back(op_chart(s, Stage::prefill));
  if (s.request.output > 1) page.charts.push_back(op_chart(s, Stage::decode));
  page.charts.push_back(memory_chart(s));
  page.tables.push_back({"The point that was asked for", cli::cost_table(s)});
  page.notes = {
      "FLOPs are exact: 1 multiply-add is 2, attention counts visible pairs, nothing elementwise.",
      "Seconds are the profile's: each op takes a fixed cost plus its FLOPs over a rate and its "
      "bytes over a bandwidth, one after another. Nobody waits in a queue here; serve adds that.",
      "Points whose FLOPs pass 64 bits are left out."};
  return page;
}

}  // namespace orthros::report
