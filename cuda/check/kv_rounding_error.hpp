// What e4m3 caches cost in exactness, and the scales that a case has for them.
#pragma once

#include <span>
#include <string>

#include "cuda/check/record.hpp"
#include "reference/hopper/kv_scales.hpp"

namespace orthros::cuda {

// Of a case's logits over e4m3 caches, those over bf16 caches being what they should be: no limit,
// a statement.
struct RoundingFinding {
  std::string check_case;
  double most = 0.0;        // largest difference
  double mean = 0.0;        // mean one
  double mean_logit = 0.0;  // mean magnitude of the logits over bf16 caches
  double most_logit = 0.0;  // largest
  int64_t logits = 0;
};
RoundingFinding rounding_of(std::span<const double> rounded, std::span<const double> kept);

// Fitted to the entries of a run over bf16 caches, with room added differently from head to head
// and from keys to values, so that no two neighbours' need be alike.
hopper::KvScales case_scales(const ModelSpec& spec, const RunRecord& bf16);

}  // namespace orthros::cuda
