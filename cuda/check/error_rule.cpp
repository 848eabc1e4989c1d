// Measures errors, derives limits.
#include "cuda/check/error_rule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orthros::cuda {

Error error_of(std::span<const double> values, std::span<const double> exact) {
  Error error;
  if (values.size() != exact.size()) return {0.0, 0.0, false};
  double sum = 0.0;
  for (size_t i = 0; i < values.size(); ++i) {
    error.finite = error.finite && std::isfinite(values[i]) && std::isfinite(exact[i]);
    const double off = std::abs(values[i] - exact[i]);
    error.most = std::max(error.most, off);
    sum += off;
  }
  error.mean = values.empty() ? 0.0 : sum / static_cast<double>(values.size());
  return error;
}

ErrorLimit error_limit(const Error& bf16, std::span<const double> exact) {
  double most = 0.0;
  double sum = 0.0;
  for (const double value : exact) {
    most = std::max(most, std::abs(value));
    sum += std::abs(value);
  }
  const double mean = exact.empty() ? 0.0 : sum / static_cast<double>(exact.size());
  return {2.0 * bf16.most + 0x1p-8 * most, 2.0 * bf16.mean + 0x1p-9 * mean};
}

bool within(const Error& engine, const ErrorLimit& limit) {
  return engine.finite && engine.most <= limit.most && engine.mean <= limit.mean;
}

std::vector<int64_t> certain_largest(std::span<const double> exact, int64_t width, double margin) {
  std::vector<int64_t> places;
  for (size_t row = 0; row + static_cast<size_t>(width) <= exact.size();
       row += static_cast<size_t>(width)) {
    const auto values = exact.subspan(row, static_cast<size_t>(width));
    const auto best = std::max_element(values.begin(), values.end());
    double second = -std::numeric_limits<double>::infinity();
    for (auto value = values.begin(); value != values.end(); ++value) {
      if (value != best) second = std::max(second, *value);
    }
    places.push_back(*best - second > margin ? best - values.begin() : -1);
  }
  return places;
}

}  // namespace orthros::cuda
