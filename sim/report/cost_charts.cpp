// Computes the points of cost charts.
#include "sim/report/cost_charts.hpp"

#include <algorithm>

#include "reference/spec/input_error.hpp"

namespace orthros::report {
namespace {

constexpr const char* no_fit = "does not fit in memory";

CostRequest with(CostRequest request, Along along, int64_t value) {
  switch (along) {
    case Along::input:
      request.input = value;
      break;
    case Along::output:
      request.output = value;
      break;
    case Along::batch:
      request.batch = value;
      break;
  }
  return request;
}

// Absent where the request's FLOPs or bytes pass 64 bits.
std::optional<CostPoint> point_at(const System& system, const CostRequest& request) {
  try {
    check_request(request);
    return cost_point(*system.cost, *system.hardware, request);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

// End-to-end time of `base` over that of `system`; without a base, the time itself.
HeatMap::Cell cell_at(const System& system, const System* base, const CostRequest& request) {
  const auto point = point_at(system, request);
  if (!point) return {};
  if (base == nullptr) return {point->latency.e2e_s, !point->fits};
  const auto base_point = point_at(*base, request);
  if (!base_point) return {};
  return {base_point->latency.e2e_s / point->latency.e2e_s, !point->fits || !base_point->fits};
}

}  // namespace

Axis axis_of(Along along) {
  switch (along) {
    case Along::input:
      return {"Input tokens", Quantity::tokens, Scale::logarithmic};
    case Along::output:
      return {"Output tokens", Quantity::tokens, Scale::logarithmic};
    case Along::batch:
      return {"Batch", Quantity::tokens, Scale::logarithmic};
  }
  return {};
}

std::vector<int64_t> thinned(const std::vector<int64_t>& values, size_t most) {
  if (values.size() <= most) return values;
  std::vector<int64_t> kept;
  for (size_t i = 0; i < most; ++i) kept.push_back(values[i * (values.size() - 1) / (most - 1)]);
  return kept;
}

LineChart cost_lines(std::span<const System> systems, const Range& x, const CostRequest& fixed,
                     const Axis& y, Figure figure) {
  LineChart lines;
  lines.x = axis_of(x.along);
  lines.y = y;
  lines.doubt = no_fit;
  for (const System& system : systems) {
    Series series{system.name, arch_colour(system.arch), {}, system.dash};
    for (const int64_t value : x.values) {
      const auto point = point_at(system, with(fixed, x.along, value));
      Point at{static_cast<double>(value), std::nullopt};
      if (point) {
        at.y = figure(point->latency);
        at.doubtful = !point->fits;
      }
      series.points.push_back(at);
    }
    lines.series.push_back(std::move(series));
  }
  return lines;
}

HeatMap gain_map(std::span<const System> systems, const Range& x, const Range& y,
                 const CostRequest& fixed) {
  HeatMap map;
  map.x = axis_of(x.along);
  map.y = axis_of(y.along);
  map.columns.assign(x.values.begin(), x.values.end());
  map.rows.assign(y.values.begin(), y.values.end());
  map.doubt = no_fit;
  const auto has_base = [&](const System& system) { return &systems[system.base] != &system; };
  const bool compared = std::any_of(systems.begin(), systems.end(), has_base);
  if (!compared) {
    map.quantity = Quantity::seconds;
    map.around_one = false;
  }
  for (const System& system : systems) {
    if (compared && !has_base(system)) continue;
    HeatMap::Layer layer{system.name, {}};
    for (const int64_t row : y.values) {
      auto& cells = layer.rows.emplace_back();
      for (const int64_t column : x.values) {
        cells.push_back(cell_at(system, compared ? &systems[system.base] : nullptr,
                                with(with(fixed, x.along, column), y.along, row)));
      }
    }
    map.layers.push_back(std::move(layer));
  }
  // The first layer is the one shown: what the project is about, where it was asked for.
  std::stable_partition(map.layers.begin(), map.layers.end(), [](const HeatMap::Layer& layer) {
    return layer.name.rfind("orthros", 0) == 0;
  });
  return map;
}

}  // namespace orthros::report
