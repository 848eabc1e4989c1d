// Builds the chart of ops.
#include "sim/report/op_chart.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace orthros::report {
namespace {

constexpr double least_share = 0.01;

// Kinds in the order in which a bar shows them; names of one kind share a hue.
struct Hue {
  const char* name;
  size_t shades;
};
constexpr std::array<Hue, 7> hues = {{{"attention", 3},
                                      {"gemm", 6},
                                      {"recurrence", 2},
                                      {"elementwise", 2},
                                      {"communication", 3},
                                      {"software", 1},
                                      {"other", 1}}};
constexpr size_t software_hue = 5, other_hue = 6;

size_t hue_of(const CostOp& op) {
  if (op.op.name == "software") return software_hue;
  switch (op.op.kind) {
    case OpKind::prefill_attention:
    case OpKind::decode_attention:
      return 0;
    case OpKind::gemm:
      return 1;
    case OpKind::recurrence:
      return 2;
    case OpKind::elementwise:
      return 3;
    case OpKind::communication:
      return 4;
  }
  return other_hue;
}

std::string words(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

struct Row {
  size_t hue = other_hue;
  std::vector<double> seconds;  // by architecture
  double largest_share = 0.0;
};

}  // namespace

Chart op_chart(const cli::CostScenario& scenario, Stage stage) {
  const size_t bars = scenario.results.size();
  std::map<std::string, Row> rows;
  std::vector<std::string> order;  // as engines run them
  StackChart chart;
  for (size_t i = 0; i < bars; ++i) {
    chart.bars.push_back(label_of(scenario.results[i]));
    double total = 0.0;
    for (const CostOp& op : scenario.results[i].ops) {
      if (op.stage == stage) total += op.seconds;
    }
    for (const CostOp& op : scenario.results[i].ops) {
      if (op.stage != stage || op.seconds <= 0.0) continue;
      const std::string name = words(op.op.name);
      auto [row, added] = rows.try_emplace(name);
      if (added) {
        row->second = {hue_of(op), std::vector<double>(bars, 0.0), 0.0};
        order.push_back(name);
      }
      row->second.seconds[i] += op.seconds;
      row->second.largest_share =
          std::max(row->second.largest_share, row->second.seconds[i] / total);
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto& a, const auto& b) { return rows.at(a).hue < rows.at(b).hue; });

  std::array<size_t, hues.size()> used{};
  const auto colour = [&](size_t hue) {
    const size_t shade = used[hue]++ % hues[hue].shades;
    return "--op-" + std::string(hues[hue].name) + "-" + std::to_string(shade);
  };
  std::vector<double> others(bars, 0.0);
  for (const std::string& name : order) {
    const Row& row = rows.at(name);
    if (row.largest_share >= least_share) {
      chart.segments.push_back({name, colour(row.hue), row.seconds});
      continue;
    }
    for (size_t i = 0; i < bars; ++i) others[i] += row.seconds[i];
  }
  if (std::any_of(others.begin(), others.end(), [](double value) { return value > 0.0; })) {
    chart.segments.push_back({"others", colour(other_hue), others});
  }
  const bool prefill = stage == Stage::prefill;
  chart.value = {prefill ? "Prefill of the batch" : "All decode steps", Quantity::seconds};
  return {prefill ? "prefill-ops" : "decode-ops",
          prefill ? "Where prefill's time goes" : "Where decode's time goes",
          prefill ? "Until the batch has its first tokens, by op."
                  : "From the first tokens to the last ones, by op.",
          std::move(chart)};
}

}  // namespace orthros::report
