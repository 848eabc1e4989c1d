// ShardedEngine: a model on several GPUs, every sequence's tokens spread over them.
#pragma once

#include <memory>
#include <vector>

#include "cuda/engine/engine.hpp"
#include "cuda/group/group.hpp"
#include "cuda/group/shard_attention.hpp"
#include "cuda/layout/key_ranges.hpp"
#include "cuda/layout/shard_plan.hpp"

namespace orthros::cuda {

// Prefill: a prompt that begins a sequence is cut into contiguous shards, one a rank; each rank
// runs its shard alone, with the left context that its windows reach run again, so nothing is sent
// and nobody waits; the output copies follow as one pass over all shards. Tokens appended later go
// to the rank of the last ones. Decode: a token's base row runs where the newest tokens are; output
// rows run on every rank alike and share their attention (ShardAttention). When a sequence enters a
// new split, the split goes to the rank with the most room, the window's earlier keys with it.
// Splits and blocks stand at absolute positions, so caches and logits have one GPU's bits.
class ShardedEngine : public Runner {
 public:
  // Specs with two streams, windows and heads that split_attention_fits. Throws InputError for
  // others and as Engine does, GroupFailure where a rank or the transport fails.
  ShardedEngine(const ModelSpec& spec, const ModelMaker& make_model, const EngineLimits& limits,
                const GroupOptions& options);
  ~ShardedEngine() override;

  std::vector<Prediction> prefill(std::span<const Prompt> prompts, Want want = Want::tokens,
                                  int64_t chunk = 0) override;
  std::vector<Prediction> decode(std::span<const NextToken> tokens, Want want = Want::tokens,
                                 Launch launch = Launch::graph) override;
  std::vector<int64_t> decode_greedily(std::span<const NextToken> tokens, int64_t steps) override;
  int64_t length(int64_t sequence) const override;
  void truncate(int64_t sequence, int64_t length) override;
  void reset() override;
  std::vector<bf16_bits> keys(int64_t layer, int64_t sequence) const override;
  std::vector<bf16_bits> values(int64_t layer, int64_t sequence) const override;
  void fill_randomly(int64_t length) override;
  void observe(OpObserver observer) override;  // of rank 0
  void poison() override;
  const ModelSpec& spec() const override { return spec_; }
  const EngineLimits& limits() const override { return limits_; }
  int64_t bytes() const override;        // of all ranks
  cudaStream_t stream() const override;  // rank 0's, which ends last whatever is asked for
  void synchronise() const override;

  int64_t weight_bytes() const { return group_.weight_bytes(); }
  // Who holds what of a sequence.
  const SplitHolders& holders(int64_t sequence) const {
    return holders_[static_cast<size_t>(sequence)];
  }

 private:
  struct Rank;

  Rank& rank(int32_t r) const { return *ranks_[static_cast<size_t>(r)]; }
  // Splits for positions up to `length`, all with the last one's holder.
  void extend(int64_t sequence, int64_t length);
  void require_room(int64_t sequence) const;
  void run_shards(int32_t r, std::span<const Prompt> prompts,
                  const std::vector<std::vector<RankShard>>& shards, int64_t chunk);
  // Before the token behind a sequence's last enters: whose split it falls into.
  void grow(std::span<const NextToken> tokens);
  void hand_over(int32_t r, int32_t from, int32_t to, int64_t sequence, KeyRange range);
  std::vector<NextToken> entering(int32_t r, std::span<const NextToken> tokens) const;
  std::vector<bf16_bits> collect(int64_t layer, int64_t sequence, bool keys) const;

  ModelSpec spec_;
  EngineLimits limits_;                // as asked for
  EngineLimits rank_limits_;           // of each rank's engine
  int64_t reach_;                      // tokens of left context that a shard runs again
  int64_t window_;                     // the widest
  std::vector<SplitHolders> holders_;  // by sequence
  Group group_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace orthros::cuda
