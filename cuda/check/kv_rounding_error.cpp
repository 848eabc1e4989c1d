// Compares logits, chooses scales.
#include "cuda/check/kv_rounding_error.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/check/error_rule.hpp"
#include "reference/hopper/e4m3.hpp"

namespace orthros::cuda {

RoundingFinding rounding_of(std::span<const double> rounded, std::span<const double> kept) {
  const Error error = error_of(rounded, kept);
  RoundingFinding finding;
  finding.most = error.most;
  finding.mean = error.mean;
  finding.logits = static_cast<int64_t>(kept.size());
  for (const double logit : kept) {
    finding.mean_logit += std::abs(logit) / static_cast<double>(kept.size());
    finding.most_logit = std::max(finding.most_logit, std::abs(logit));
  }
  return finding;
}

hopper::KvScales case_scales(const ModelSpec& spec, const RunRecord& bf16) {
  // Layer by layer, every sequence's.
  std::vector<std::vector<bf16_bits>> keys(spec.layers.size());
  std::vector<std::vector<bf16_bits>> values(spec.layers.size());
  for (const SequenceRecord& sequence : bf16) {
    for (size_t layer = 0; layer < keys.size(); ++layer) {
      keys[layer].insert(keys[layer].end(), sequence.keys[layer].begin(),
                         sequence.keys[layer].end());
      values[layer].insert(values[layer].end(), sequence.values[layer].begin(),
                           sequence.values[layer].end());
    }
  }
  hopper::KvScales scales = hopper::fitted_scales(spec, keys, values);
  for (int64_t layer = 0; layer < scales.layers(); ++layer) {
    for (const bool of_values : {false, true}) {
      for (int64_t head = 0; head < scales.kv_heads(); ++head) {
        const auto room = static_cast<int>((layer + 2 * head + (of_values ? 1 : 0)) % 3);
        scales.set_exponent(
            layer, of_values, head,
            std::min(scales.exponent(layer, of_values, head) + room, hopper::most_e4m3_exponent));
      }
    }
  }
  return scales;
}

}  // namespace orthros::cuda
