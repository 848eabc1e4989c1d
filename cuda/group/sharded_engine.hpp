// ShardedEngine: a model on several GPUs, every sequence's tokens spread over them.
#pragma once

#include <memory>
#include <vector>

#include "cuda/engine/engine.hpp"
#include "cuda/engine/prompt_attention.hpp"
#include "cuda/group/group.hpp"
#include "cuda/layout/rounds.hpp"
#include "cuda/layout/shard_plan.hpp"

namespace orthros::cuda {

// How a model's sequences are spread.
enum class Spreading {
  shards_and_outputs,  // two streams
  shards,              // one, with windows in every layer
  rounds,              // one, without windows
};
// Throws InputError for a spec that is none of them, or that Engine does not run.
Spreading spreading_of(const ModelSpec& spec);

// Shards: a prompt that begins a sequence is cut into contiguous shards, one a rank; each rank runs
// its shard alone, with the left context that its windows reach run again, so nothing is sent and
// nobody waits. Tokens appended later go to the rank of the last ones. In a decode step a token's
// base row runs where the newest tokens are; when a sequence enters a new split, the split goes to
// the rank with the most room, the window's earlier keys with it. Output copies follow a prompt as
// one pass, and run on every rank alike, sharing their attention (ShardAttention).
// Rounds, what Orthros is compared with: splits are dealt round the ranks, which keep no others;
// ranks run a round of neighbouring chunks of a prompt in step, and in each layer what all keep and
// have made of it comes together on every rank (KeyCirculation). Decode steps run on every rank
// alike and share their attention.
// Splits and blocks stand at absolute positions, so caches and logits have one GPU's bits.
class ShardedEngine : public Runner {
 public:
  // `make_attention`, unless empty and for rounds alone, gives each rank's engine its
  // Engine::attend_prompts_by. Throws as spreading_of and Engine do, and GroupFailure where a rank
  // or the transport fails.
  ShardedEngine(const ModelSpec& spec, const ModelMaker& make_model, const EngineLimits& limits,
                const GroupOptions& options, const PromptAttentionMaker& make_attention = {});
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

 private:
  struct Rank;
  // What a rank runs of a decode step, and which of the tokens each is.
  struct Turn {
    std::vector<NextToken> tokens;
    std::vector<size_t> whose;
  };

  Rank& rank(int32_t r) const { return *ranks_[static_cast<size_t>(r)]; }
  Engine& first() const;
  SplitHolders& holders(int64_t sequence) { return holders_[static_cast<size_t>(sequence)]; }
  const SplitHolders& holders(int64_t sequence) const {
    return holders_[static_cast<size_t>(sequence)];
  }
  // Whose the split behind a sequence's last is to be, as it decodes.
  int32_t next_holder(int64_t sequence) const;
  // Splits for positions up to `length`: all with the last one's holder, or dealt.
  void extend(int64_t sequence, int64_t length);
  void require_room(int64_t sequence) const;
  // Tells a rank's attention who holds a sequence's splits.
  void place(int32_t r, int64_t sequence);

  // The splits of shards that begin a sequence are their ranks'.
  void hold_shards(int64_t sequence, std::span<const RankShard> shards);
  // Each prompt's shards, by rank; what they will hold is noted.
  std::vector<std::vector<RankShard>> plan_shards(std::span<const Prompt> prompts);
  // Predictions are written where a rank makes them, prompts in order.
  void run_shards(int32_t r, std::span<const Prompt> prompts,
                  const std::vector<std::vector<RankShard>>& shards, Want want, int64_t chunk,
                  std::span<Prediction> predictions);
  // Each prompt's rounds; who holds its splits is noted.
  std::vector<Rounds> plan_prompt_rounds(std::span<const Prompt> prompts, int64_t chunk);
  void run_rounds(int32_t r, const Prompt& prompt, const Rounds& rounds, Want want,
                  std::span<Prediction> predictions);

  // Before the token behind a sequence's last enters: whose split it falls into.
  void grow(std::span<const NextToken> tokens);
  void hand_over(int32_t r, int32_t from, int32_t to, int64_t sequence, KeyRange range);
  Turn turn(int32_t r, std::span<const NextToken> tokens) const;
  int64_t logits_of(Want want) const { return want == Want::logits ? spec_.vocab : 0; }
  // Whose each token's newest split is.
  std::vector<int32_t> last_holders(std::span<const NextToken> tokens) const;
  // Tokens that entered, and those that followed step by step, to ranks that did not run them.
  void tell_others(std::span<const NextToken> tokens, std::span<const int64_t> ids);
  // Whether a rank is the one to tell what a token of its turn predicts.
  bool tells(int32_t r) const {
    return spreading_ == Spreading::shards || r == group_.first_here();
  }
  std::vector<bf16_bits> collect(int64_t layer, int64_t sequence, bool keys) const;

  ModelSpec spec_;
  Spreading spreading_;
  EngineLimits limits_;                // as asked for
  EngineLimits rank_limits_;           // of each rank's engine
  int64_t reach_ = 0;                  // tokens of left context that a shard runs again
  int64_t window_ = 0;                 // the widest
  std::vector<SplitHolders> holders_;  // by sequence
  Group group_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace orthros::cuda
