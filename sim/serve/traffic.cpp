// Draws arrivals and lengths.
#include "sim/serve/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numbers>

#include "reference/spec/input_error.hpp"
#include "reference/spec/size_text.hpp"
#include "reference/weights/counter_random.hpp"

namespace orthros {
namespace {

constexpr int64_t most_requests = int64_t{1} << 27;
constexpr double most_variation = 100.0;

// One kind of number after another from a counter's stream.
class Draws {
 public:
  Draws(uint64_t seed, std::string_view name) : random_(seed, name) {}

  double uniform() { return random_.uniform(next_++); }  // [0, 1)
  double exponential() { return -std::log1p(-uniform()); }
  // Box and Muller's, one of the pair.
  double normal() {
    const double radius = std::sqrt(2.0 * exponential());
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }
  // Mean `shape`. Marsaglia and Tsang, 2000; below 1 through shape + 1.
  double gamma(double shape) {
    if (shape < 1.0) {
      const double larger = gamma(shape + 1.0);
      return larger * std::pow(1.0 - uniform(), 1.0 / shape);
    }
    const double d = shape - 1.0 / 3.0;
    const double c = 1.0 / std::sqrt(9.0 * d);
    while (true) {
      const double x = normal();
      const double v = std::pow(1.0 + c * x, 3.0);
      const double u = 1.0 - uniform();  // (0, 1]
      if (v > 0.0 && std::log(u) < x * x / 2.0 + d - d * v + d * std::log(v)) return d * v;
    }
  }

 private:
  CounterRandom random_;
  uint64_t next_ = 0;
};

double draw_gap(Draws& draws, double rate, double variation) {
  if (variation == 0.0) return 1.0 / rate;
  if (variation == 1.0) return draws.exponential() / rate;
  const double shape = 1.0 / (variation * variation);
  return draws.gamma(shape) / (shape * rate);
}

int64_t draw_length(Draws& draws, const LengthLaw& law) {
  if (law.variation == 0.0) return static_cast<int64_t>(law.mean);
  const double variance = std::log1p(law.variation * law.variation);  // of the logarithm
  const double log_mean = std::log(law.mean) - variance / 2.0;
  const double length = std::round(std::exp(log_mean + std::sqrt(variance) * draws.normal()));
  constexpr auto longest = static_cast<double>(longest_sequence / 2);
  return static_cast<int64_t>(std::clamp(length, 1.0, longest));
}

}  // namespace

LengthLaw parse_length_law(std::string_view option, std::string_view text) {
  constexpr std::string_view prefix = "lognormal:";
  if (!text.starts_with(prefix)) return {static_cast<double>(parse_size(option, text)), 0.0};
  text.remove_prefix(prefix.size());
  const size_t comma = text.find(',');
  const std::string_view tail = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  LengthLaw law;
  law.mean = static_cast<double>(parse_size(option, text.substr(0, comma)));
  const auto [end, error] = std::from_chars(tail.data(), tail.data() + tail.size(), law.variation);
  if (error != std::errc{} || end != tail.data() + tail.size() || !(law.variation > 0.0) ||
      law.variation > most_variation || law.mean < 1.0) {
    throw InputError(option, "",
                     fmt::format("expected lognormal:MEAN,CV with MEAN from 1 and CV above 0 and "
                                 "at most {}, got 'lognormal:{}'",
                                 most_variation, text));
  }
  return law;
}

Workload generate(const Traffic& traffic) {
  Workload workload;
  workload.concurrency = traffic.concurrency;
  const int64_t count = traffic.requests.value_or(most_requests + 1);
  const double until = traffic.duration_s.value_or(std::numeric_limits<double>::infinity());
  Draws arrivals(traffic.seed, "arrivals");
  Draws inputs(traffic.seed, "inputs");
  Draws outputs(traffic.seed, "outputs");
  Draws pairs(traffic.seed, "pairs");
  double time = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    if (i == most_requests) {
      throw InputError("traffic", "", fmt::format("expected at most {} requests", most_requests));
    }
    Request request;
    if (traffic.concurrency == 0) {
      time += draw_gap(arrivals, traffic.rate, traffic.variation);
      if (time >= until) break;
      request.arrival_s = time;
    }
    if (traffic.pairs.empty()) {
      request.input = draw_length(inputs, traffic.input);
      request.output = draw_length(outputs, traffic.output);
    } else {
      const auto pick =
          static_cast<size_t>(pairs.uniform() * static_cast<double>(traffic.pairs.size()));
      request.input = traffic.pairs[pick].input;
      request.output = traffic.pairs[pick].output;
    }
    workload.requests.push_back(request);
  }
  return workload;
}

}  // namespace orthros
