// What a check found: counts by promise and by case, errors, and the first difference of each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/check/compare.hpp"
#include "cuda/check/error_rule.hpp"
#include "cuda/check/kv_rounding_error.hpp"

namespace orthros::cuda {

struct PromiseCount {
  std::string name;
  int64_t compared = 0;
  int64_t equal = 0;
};

// One kind of value of one case against double.
struct ErrorFinding {
  std::string check_case;
  std::string part;  // "logits", "keys", "values"
  Error engine;
  Error bf16;
  ErrorLimit limit;

  bool holds() const { return within(engine, limit); }
};

struct CaseFinding {
  std::string name;
  std::string description;
  int64_t compared = 0;
  int64_t equal = 0;
  int64_t failed = 0;  // comparisons, errors, exceptions
  double seconds = 0.0;
};

class Findings {
 public:
  void begin_case(const std::string& name, const std::string& description);
  void end_case(double seconds) { cases_.back().seconds = seconds; }

  // Counts for the case begun. One that compares nothing counts for nothing.
  void add(std::string_view promise, const Tally& tally);
  void add(ErrorFinding error);
  void add(RoundingFinding rounding);
  // An exception; no element to name.
  void add_failure(const std::string& message);
  void leave_out(const std::string& name, const std::string& why);

  int64_t compared() const;
  int64_t equal() const;
  int64_t failed() const;
  const std::vector<PromiseCount>& promises() const { return promises_; }
  const std::vector<CaseFinding>& cases() const { return cases_; }
  const std::vector<ErrorFinding>& errors() const { return errors_; }
  const std::vector<RoundingFinding>& roundings() const { return roundings_; }
  const std::vector<Difference>& differences() const { return differences_; }
  // "case: what went wrong", in the order found.
  const std::vector<std::string>& failures() const { return failures_; }
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  void fail(const std::string& what);

  std::vector<PromiseCount> promises_;  // in the order first counted
  std::vector<CaseFinding> cases_;
  std::vector<ErrorFinding> errors_;
  std::vector<RoundingFinding> roundings_;
  std::vector<Difference> differences_;
  std::vector<std::string> failures_;
  std::vector<std::string> left_out_;
};

}  // namespace orthros::cuda
