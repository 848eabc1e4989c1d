// Traffic: requests drawn from distributions, by seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/serve/serve.hpp"
#include "sim/trace/trace.hpp"

namespace orthros {

// A length in tokens: always `mean`, or lognormal with this mean and coefficient of variation
// (standard deviation / mean), rounded, at least 1.
struct LengthLaw {
  double mean = 1.0;
  double variation = 0.0;  // 0: always mean
};

// "30K", or "lognormal:30K,1.2". InputError naming `option`.
LengthLaw parse_length_law(std::string_view option, std::string_view text);

struct Traffic {
  uint64_t seed = 0;
  // Arrivals: gaps of a gamma distribution with mean 1 / rate and this coefficient of variation; 1
  // is Poisson, 0 a clock, above 1 bursts. Unused in a closed loop.
  double rate = 0.0;  // requests per second
  double variation = 1.0;
  int64_t concurrency = 0;  // above 0: closed loop
  // The first that is reached ends the arrivals; a closed loop has a count.
  std::optional<int64_t> requests;
  std::optional<double> duration_s;
  LengthLaw input, output;
  std::vector<Lengths> pairs;  // not empty: lengths are drawn from these, with replacement
};

// Draw i of each kind depends on seed, kind and the draws before it only. Throws InputError for
// more than 2^27 requests.
Workload generate(const Traffic& traffic);

}  // namespace orthros
