// KeyCirculation: one rank's part in bringing a layer's keys and values together for a prompt.
#pragma once

#include <vector>

#include "cuda/engine/rank_hooks.hpp"
#include "cuda/group/exchange.hpp"
#include "cuda/layout/key_ranges.hpp"

namespace orthros::cuda {

// Splits are dealt round the ranks (cuda/layout/dealt_keys.hpp), and each keeps its own; who runs a
// chunk has nothing to do with it. In every round and layer each rank sends what it keeps and what
// it has just made to all others, in one exchange.
class KeyCirculation : public KeySharing {
 public:
  KeyCirculation(const AttentionShape& shape, Exchange& exchange, const Deal& deal)
      : shape_(shape), exchange_(exchange), deal_(deal) {}

  // What every rank runs next, in order; all that stands in front is kept.
  void begin_round(int64_t sequence, std::vector<KeyRange> round);

  void share(KvStore& cache, int64_t layer, cudaStream_t stream) override;

 private:
  Deal of(int64_t rank) const { return {rank, deal_.ranks}; }

  AttentionShape shape_;
  Exchange& exchange_;
  Deal deal_;
  int64_t sequence_ = 0;
  std::vector<KeyRange> round_;  // by rank
};

}  // namespace orthros::cuda
