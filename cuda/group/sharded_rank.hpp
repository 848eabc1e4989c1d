// What one rank of a ShardedEngine owns.
#pragma once

#include "cuda/group/key_circulation.hpp"
#include "cuda/group/shard_attention.hpp"
#include "cuda/group/sharded_engine.hpp"
#include "cuda/layout/dealt_keys.hpp"
#include "cuda/layout/sizes.hpp"

namespace orthros::cuda {

struct ShardedEngine::Rank {
  // limits: of its engine.
  Rank(const Group& group, int32_t r, Spreading spreading, const EngineLimits& limits,
       const PromptAttentionMaker& make_attention)
      : attention(make_attention ? make_attention() : nullptr),
        outputs(make_outputs(group, r, spreading, limits)),
        keys(make_keys(group, r, limits)),
        engine(group.model(r), limits, EngineFault::none, {outputs.get(), keys.get()}) {
    engine.attend_prompts_by(attention.get());
  }

  int64_t bytes() const { return engine.bytes() + (outputs ? outputs->bytes() : 0); }

  std::unique_ptr<PromptAttention> attention;  // null: the engine's own
  std::unique_ptr<ShardAttention> outputs;     // null where no attention is shared
  std::unique_ptr<KeyCirculation> keys;        // null where no keys are
  Engine engine;

 private:
  static std::unique_ptr<ShardAttention> make_outputs(const Group& group, int32_t r,
                                                      Spreading spreading,
                                                      const EngineLimits& limits) {
    if (spreading == Spreading::shards) return nullptr;
    const bool dealt = spreading == Spreading::rounds;
    const ShardAttention::Size size{
        limits.sequences, dealt ? limits.sequences : limits.outputs,
        split_count(dealt ? most_dealt(limits.context, group.ranks()) : limits.held),
        split_count(limits.context)};
    return std::make_unique<ShardAttention>(attention_shape(group.model(r).spec), group.exchange(r),
                                            r, group.ranks(), size);
  }
  static std::unique_ptr<KeyCirculation> make_keys(const Group& group, int32_t r,
                                                   const EngineLimits& limits) {
    if (limits.deal.ranks == 1) return nullptr;
    return std::make_unique<KeyCirculation>(attention_shape(group.model(r).spec), group.exchange(r),
                                            limits.deal);
  }
};

}  // namespace orthros::cuda
