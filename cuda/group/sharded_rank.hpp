// What one rank of a ShardedEngine owns.
#pragma once

#include "cuda/group/sharded_engine.hpp"

namespace orthros::cuda {

struct ShardedEngine::Rank {
  Rank(const DeviceModel& model, const EngineLimits& limits, Exchange& exchange, int32_t rank,
       int32_t ranks)
      : Rank(model, limits, exchange, rank, ranks,
             {limits.sequences, limits.outputs, split_count(limits.held),
              split_count(limits.context)}) {}

  ShardAttention outputs;
  int64_t outputs_bytes;
  Engine engine;

 private:
  Rank(const DeviceModel& model, const EngineLimits& limits, Exchange& exchange, int32_t rank,
       int32_t ranks, const ShardAttention::Size& size)
      : outputs(attention_shape(model.spec), exchange, rank, ranks, size),
        outputs_bytes(ShardAttention::bytes(attention_shape(model.spec), ranks, size)),
        engine(model, limits, EngineFault::none, {&outputs, nullptr}) {}
};

}  // namespace orthros::cuda
