// Builds the page of `sweep`.
#include "sim/report/sweep_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>
#include <span>

#include "reference/spec/size_text.hpp"
#include "sim/cli/cost_report.hpp"
#include "sim/report/cost_charts.hpp"
#include "sim/report/scenario_facts.hpp"

namespace orthros::report {
namespace {

constexpr size_t most_systems = 24;  // lines that can still be told apart
constexpr size_t most_points = 200;  // of a line
constexpr size_t most_rows = 500;    // of the table

// Hardware and profile together: what gains are compared within.
std::string place_of(const SweptSystem& s) {
  return s.hardware.name + ", " + s.profile.name;
}

// The Transformer in the system's place, else the first system there.
size_t base_for(const std::vector<SweptSystem>& systems, size_t of) {
  size_t base = of;
  for (size_t i = systems.size(); i-- > 0;) {
    if (place_of(systems[i]) == place_of(systems[of])) base = i;
  }
  for (size_t i = systems.size(); i-- > 0;) {
    const bool there = place_of(systems[i]) == place_of(systems[of]);
    if (there && systems[i].arch == "transformer") base = i;
  }
  return base;
}

// Names say hardware and profile where there are several. Lines of one colour, an architecture's,
// differ by their dashes.
std::vector<System> systems_of(const SweepScenario& s) {
  const bool several = std::any_of(s.systems.begin(), s.systems.end(), [&](const auto& system) {
    return place_of(system) != place_of(s.systems.front());
  });
  std::vector<System> systems;
  for (size_t i = 0; i < s.systems.size(); ++i) {
    const SweptSystem& swept = s.systems[i];
    System system{swept.arch, swept.arch, &swept.cost, &swept.hardware, base_for(s.systems, i)};
    if (swept.window) system.name += fmt::format(" (w={})", *swept.window);
    if (several) system.name += ", " + place_of(swept);
    system.dash = static_cast<int>(std::count_if(
        systems.begin(), systems.end(), [&](const System& x) { return x.arch == swept.arch; }));
    systems.push_back(std::move(system));
  }
  return systems;
}

std::vector<int64_t> sorted(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

using Ranges = std::array<Range, 3>;  // input, output, batch

const char* name_of(Along along) {
  return along == Along::input ? "input" : along == Along::output ? "output" : "batch";
}

int64_t middle(const std::vector<int64_t>& values) {
  return values[values.size() / 2];
}

// "output 256, batch 4", without what runs along an axis.
std::string held(const CostRequest& fixed, std::initializer_list<Along> spread) {
  std::vector<std::string> parts;
  const auto add = [&](Along along, int64_t value) {
    if (std::find(spread.begin(), spread.end(), along) != spread.end()) return;
    parts.push_back(fmt::format("{} {}", name_of(along), size_text(value)));
  };
  add(Along::input, fixed.input);
  add(Along::output, fixed.output);
  add(Along::batch, fixed.batch);
  return fmt::format("At {}.", fmt::join(parts, ", "));
}

std::string list_text(const std::vector<int64_t>& values) {
  if (values.size() == 1) return size_fact(values.front());
  return fmt::format("{} values, {} to {}", values.size(), size_text(values.front()),
                     size_text(values.back()));
}

// A fact of a name already told joins its values there.
void add_fact(std::vector<Page::Fact>& facts, const Page::Fact& fact) {
  const auto told = std::find_if(facts.begin(), facts.end(),
                                 [&](const Page::Fact& other) { return other.name == fact.name; });
  if (told == facts.end()) {
    facts.push_back(fact);
  } else if (told->value.find(fact.value) == std::string::npos) {
    told->value += "; " + fact.value;
  }
}

struct Picture {
  const char* id;
  const char* title;
  const char* y_title;
  Quantity quantity;
  Figure figure;
};

std::optional<double> e2e(const CostLatency& latency) {
  return latency.e2e_s;
}
std::optional<double> ttft(const CostLatency& latency) {
  return latency.ttft_s;
}
std::optional<double> tpot(const CostLatency& latency) {
  return latency.tpot_s;
}
std::optional<double> throughput(const CostLatency& latency) {
  return latency.output_tokens_per_s;
}

bool has_points(const LineChart& lines) {
  return std::any_of(lines.series.begin(), lines.series.end(), [](const Series& series) {
    return std::any_of(series.points.begin(), series.points.end(),
                       [](const Point& point) { return point.y && *point.y > 0.0; });
  });
}

// Over the two longest lists; on a tie input comes before output, output before batch.
std::optional<Chart> map_chart(std::span<const System> systems, const Ranges& ranges,
                               const CostRequest& fixed) {
  size_t left_out = 2;
  for (size_t i = 2; i-- > 0;) {
    if (ranges[i].values.size() < ranges[left_out].values.size()) left_out = i;
  }
  Range x = ranges[left_out == 0 ? 1 : 0];
  Range y = ranges[left_out == 2 ? 1 : 2];
  if (x.values.size() * y.values.size() < 2) return std::nullopt;
  x.values = thinned(x.values, most_columns);
  y.values = thinned(y.values, most_columns);
  HeatMap map = gain_map(systems, x, y, fixed);
  const std::string title =
      fmt::format("{} by {} and {}", map.around_one ? "Gain" : "End-to-end time", name_of(x.along),
                  name_of(y.along));
  const std::string about =
      map.around_one
          ? fmt::format("End-to-end time of {} over that of the system shown, in the same place. ",
                        systems[systems.front().base].arch)
          : "";
  return Chart{"gain", title, about + held(fixed, {x.along, y.along}), std::move(map)};
}

// Every point, where they are few enough to read.
cli::TextTable point_table(std::span<const System> systems, const Ranges& ranges) {
  cli::TextTable table({"system", "input", "output", "batch", "TTFT", "per token", "end to end",
                        "output tok/s", "total memory", "fits"});
  const auto or_na = [](Quantity quantity, const std::optional<double>& value) {
    return value ? text_of(quantity, *value) : "n/a";
  };
  for (const System& system : systems) {
    for (const int64_t input : ranges[0].values) {
      for (const int64_t output : ranges[1].values) {
        for (const int64_t batch : ranges[2].values) {
          const CostPoint point =
              cost_point(*system.cost, *system.hardware, {input, output, batch});
          table.add({system.name, size_text(input), size_text(output), size_text(batch),
                     text_of(Quantity::seconds, point.latency.ttft_s),
                     or_na(Quantity::seconds, point.latency.tpot_s),
                     text_of(Quantity::seconds, point.latency.e2e_s),
                     or_na(Quantity::count, point.latency.output_tokens_per_s),
                     text_of(Quantity::bytes, static_cast<double>(point.memory.total)),
                     point.fits ? "yes" : "NO"});
        }
      }
    }
  }
  return table;
}

}  // namespace

Page sweep_page(const SweepScenario& s) {
  const std::vector<System> all = systems_of(s);
  const std::span<const System> systems(all.data(), std::min(all.size(), most_systems));
  const Ranges ranges = {{{Along::input, sorted(s.inputs)},
                          {Along::output, sorted(s.outputs)},
                          {Along::batch, sorted(s.batches)}}};
  const CostRequest fixed{middle(ranges[0].values), middle(ranges[1].values),
                          middle(ranges[2].values)};
  Page page;
  page.verb = "sweep";
  page.title =
      fmt::format("{}: {} systems over input, output and batch", s.model, s.systems.size());
  page.asked = {{"Model", s.model},
                {"Input", list_text(ranges[0].values)},
                {"Output", list_text(ranges[1].values)},
                {"Batch", list_text(ranges[2].values)}};
  std::set<std::string> places;
  for (const SweptSystem& swept : s.systems) {
    if (!places.insert(place_of(swept)).second) continue;
    for (const auto& fact : deployment_facts(swept.hardware, s.deployment, swept.profile)) {
      add_fact(page.asked, fact);
    }
    page.warnings.push_back(cli::profile_line(swept.profile, swept.hardware));
  }
  if (all.size() > most_systems) {
    page.warnings.push_back(
        fmt::format("the page shows the first {} of {} systems; the CSV has all", most_systems,
                    s.systems.size()));
  }

  const Picture pictures[3][2] = {
      {{"end-to-end", "End-to-end time against input length", "End to end", Quantity::seconds, e2e},
       {"first-token", "Time to first token against input length", "Time to first token",
        Quantity::seconds, ttft}},
      {{"end-to-end-output", "End-to-end time against output length", "End to end",
        Quantity::seconds, e2e},
       {"per-token-output", "Time per output token against output length", "Time per output token",
        Quantity::seconds, tpot}},
      {{"throughput-batch", "Output tokens a second against batch", "Output tokens a second",
        Quantity::rate, throughput},
       {"per-token-batch", "Time per output token against batch", "Time per output token",
        Quantity::seconds, tpot}}};
  for (size_t i = 0; i < 3; ++i) {
    const Range range{ranges[i].along, thinned(ranges[i].values, most_points)};
    if (range.values.size() < 2 && !(i == 0 && page.charts.empty())) continue;
    for (const Picture& picture : pictures[i]) {
      LineChart lines =
          cost_lines(systems, range, fixed, {picture.y_title, picture.quantity, Scale::logarithmic},
                     picture.figure);
      if (!has_points(lines)) continue;
      page.charts.push_back(
          {picture.id, picture.title, held(fixed, {range.along}), std::move(lines)});
    }
  }
  if (auto chart = map_chart(systems, ranges, fixed)) {
    page.charts.insert(page.charts.begin() + 1, std::move(*chart));
  }
  const size_t points =
      systems.size() * ranges[0].values.size() * ranges[1].values.size() * ranges[2].values.size();
  if (points <= most_rows) page.tables.push_back({"Every point", point_table(systems, ranges)});
  page.notes = {
      "FLOPs are exact; seconds are the profile's, op after op, without any queue.",
      fmt::format("Long lists are thinned to {} points of a line and {} columns and rows of a map; "
                  "the CSV has every point.",
                  most_points, most_columns)};
  return page;
}

}  // namespace orthros::report
