// KeyCirculation: one rank's part in bringing a layer's keys and values together for a prompt.
#pragma once

#include <vector>

#include "cuda/engine/rank_hooks.hpp"
#include "cuda/group/exchange.hpp"
#include "cuda/layout/dealt_keys.hpp"
#include "cuda/support/stream.hpp"

namespace orthros::cuda {

// Splits are dealt round the ranks (cuda/layout/dealt_keys.hpp), and each keeps its own; who runs a
// chunk has nothing to do with it. In every round and layer each rank sends all others what it has
// just made and what it keeps. What is kept is known beforehand and travels while the layer before
// it is computed, so that only the new entries are waited for.
class KeyCirculation : public KeySharing {
 public:
  KeyCirculation(const AttentionShape& shape, Exchange& exchange, const Deal& deal)
      : shape_(shape), exchange_(exchange), deal_(deal) {}

  // What every rank runs next, in order; all that stands in front is kept. `stream` is the one in
  // which share() is going to be called, for every layer in order.
  void begin_round(KvStore& cache, int64_t sequence, std::vector<KeyRange> round,
                   cudaStream_t stream);

  void share(KvStore& cache, int64_t layer, cudaStream_t stream) override;

 private:
  Deal of(int64_t rank) const { return {rank, deal_.ranks}; }
  int64_t past() const { return round_.front().begin; }
  // Entries of the tokens in front of the round that a rank keeps.
  KeyRange kept(int64_t rank) const { return {0, dealt_count(past(), of(rank))}; }
  // Sends and receives what ranks keep of a layer, beside `stream`.
  void fetch(KvStore& cache, int64_t layer, cudaStream_t stream);

  AttentionShape shape_;
  Exchange& exchange_;
  Deal deal_;
  int64_t sequence_ = 0;
  std::vector<KeyRange> round_;  // by rank
  Stream beside_;
  Mark free_;     // what was received before has been collected
  Mark fetched_;  // what ranks keep of the next layer is here
};

}  // namespace orthros::cuda
