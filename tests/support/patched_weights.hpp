// Weights with some tensors changed.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "reference/model/weight_source.hpp"

namespace orthros {

// Another source, with the tensors that `matches` names read through `patch` instead: it gets the
// tensor, the first element asked for, and fills `out`. The source must outlive it.
class PatchedWeights : public WeightSource {
 public:
  using Match = std::function<bool(std::string_view name)>;
  using Patch = std::function<void(const TensorInfo&, int64_t first, std::span<double> out)>;

  PatchedWeights(const WeightSource& source, Match matches, Patch patch)
      : source_(source), matches_(std::move(matches)), patch_(std::move(patch)) {}

  void read(const TensorInfo& tensor, int64_t first, std::span<double> out) const override;
  bool has(const std::string& name) const override { return source_.has(name); }

 private:
  const WeightSource& source_;
  Match matches_;
  Patch patch_;
};

// True of names that end with one of `endings`.
PatchedWeights::Match ends_with(std::initializer_list<const char*> endings);

// alpha = alpha' = 1, beta = beta' = 0.
PatchedWeights identity_scale_offset(const WeightSource& source);

// The matching tensors drawn from another seed.
PatchedWeights redrawn(const WeightSource& source, PatchedWeights::Match matches, uint64_t seed,
                       NormKind norm);

// The matching tensors all zero.
PatchedWeights zeroed(const WeightSource& source, PatchedWeights::Match matches);

// For a model with a KV head for every query head: each group of `group` heads has the one KV
// head, `head_width` rows of k_proj and v_proj, that the source's grouped model has.
PatchedWeights repeated_kv_heads(const WeightSource& source, const ModelSpec& grouped);

}  // namespace orthros
