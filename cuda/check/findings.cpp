// Keeps counts.
#include "cuda/check/findings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace orthros::cuda {

void Findings::begin_case(const std::string& name, const std::string& description) {
  cases_.push_back({name, description});
}

void Findings::fail(const std::string& what) {
  ++cases_.back().failed;
  failures_.push_back(fmt::format("{}: {}", cases_.back().name, what));
}

void Findings::add(std::string_view promise, const Tally& tally) {
  auto found = std::find_if(promises_.begin(), promises_.end(),
                            [&](const PromiseCount& count) { return count.name == promise; });
  if (found == promises_.end()) {
    promises_.push_back({std::string(promise)});
    found = promises_.end() - 1;
  }
  found->compared += tally.compared;
  found->equal += tally.equal;
  cases_.back().compared += tally.compared;
  cases_.back().equal += tally.equal;
  if (!tally.first) return;
  Difference difference = *tally.first;
  difference.check_case = cases_.back().name;
  difference.promise = promise;
  fail(fmt::format("{}: {} of {} differ; first {}", promise, tally.compared - tally.equal,
                   tally.compared, text_of(difference)));
  differences_.push_back(std::move(difference));
}

void Findings::add(ErrorFinding error) {
  error.check_case = cases_.back().name;
  if (!error.holds()) {
    fail(
        fmt::format("error of {} against double: {}largest {:.3g} of {:.3g}, mean {:.3g} of {:.3g}",
                    error.part, error.engine.finite ? "" : "NaN or infinity; ", error.engine.most,
                    error.limit.most, error.engine.mean, error.limit.mean));
  }
  errors_.push_back(std::move(error));
}

void Findings::add(RoundingFinding rounding) {
  rounding.check_case = cases_.back().name;
  roundings_.push_back(std::move(rounding));
}

void Findings::add_failure(const std::string& message) {
  fail(message);
}

void Findings::leave_out(const std::string& name, const std::string& why) {
  left_out_.push_back(fmt::format("{}: {}", name, why));
}

int64_t Findings::compared() const {
  int64_t total = 0;
  for (const PromiseCount& promise : promises_) total += promise.compared;
  return total;
}

int64_t Findings::equal() const {
  int64_t total = 0;
  for (const PromiseCount& promise : promises_) total += promise.equal;
  return total;
}

int64_t Findings::failed() const {
  return static_cast<int64_t>(failures_.size());
}

}  // namespace orthros::cuda
