// Charts of cost points over lengths and batches, for whichever systems a page compares.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/cost.hpp"
#include "sim/report/chart.hpp"

namespace orthros::report {

// One line or layer: a model in an architecture on some hardware. `base` is the index of the system
// that its gain is over; its own where there is none.
struct System {
  std::string name;
  std::string arch;
  const StepCost* cost = nullptr;
  const Hardware* hardware = nullptr;
  size_t base = 0;
  int dash = 0;
};

// What of a request runs along an axis.
enum class Along { input, output, batch };

// One axis of a chart: its values, ascending.
struct Range {
  Along along = Along::input;
  std::vector<int64_t> values;
};

// A time or rate of a point; absent where the point has none.
using Figure = std::optional<double> (*)(const CostLatency&);

// A line per system. The rest of each request is `fixed`'s. Points whose FLOPs or bytes pass 64
// bits have no value.
LineChart cost_lines(std::span<const System> systems, const Range& x, const CostRequest& fixed,
                     const Axis& y, Figure figure);

// End-to-end time of each system's base over its own, a layer per system that has a base. With no
// such system: the times themselves.
HeatMap gain_map(std::span<const System> systems, const Range& x, const Range& y,
                 const CostRequest& fixed);

// At most `most` of the values, spread evenly, both ends included; `most` from 2.
constexpr size_t most_columns = 24;  // of a heat map: more would leave no room for figures
std::vector<int64_t> thinned(const std::vector<int64_t>& values, size_t most);

// "Input tokens".
Axis axis_of(Along along);

}  // namespace orthros::report
