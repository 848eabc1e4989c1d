// Engine: a model on one Hopper GPU. Prefill in chunks, decode as one CUDA graph.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cuda/engine/device_model.hpp"
#include "cuda/engine/fault.hpp"
#include "cuda/engine/rank_hooks.hpp"
#include "cuda/engine/runner.hpp"

namespace orthros::cuda {

// Device memory that an engine of these limits takes, weights not counted.
int64_t engine_bytes(const ModelSpec& spec, const EngineLimits& limits);
// The largest context for which engine_bytes is at most `bytes`, other limits as they are; 0: none.
int64_t most_context(const ModelSpec& spec, const EngineLimits& limits, int64_t bytes);

class KvStore;
class PromptAttention;

class Engine : public Runner {
 public:
  // Throws InputError for a spec that the engine does not run, or limits whose need exceeds the
  // free memory (naming both and the largest context that fits); DeviceError where the device
  // fails. `model` must outlive it, and so must the hooks; its spec is the engine's.
  Engine(const DeviceModel& model, const EngineLimits& limits,
         EngineFault fault = EngineFault::none, const RankHooks& hooks = {});
  ~Engine() override;

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
  void observe(OpObserver observer) override;
  void poison() override;
  const ModelSpec& spec() const override;
  const EngineLimits& limits() const override;
  int64_t bytes() const override;
  cudaStream_t stream() const override;
  void synchronise() const override;

  // For a rank of several. The sequence's tokens from now on; its cache stays as it is.
  void assume(int64_t sequence, std::span<const int64_t> tokens);
  // One more, which entered on another rank.
  void append(int64_t sequence, int64_t token);
  const std::vector<int64_t>& tokens(int64_t sequence) const;
  // Throws as prefill and decode do for what they refuse.
  void require(std::span<const Prompt> prompts) const;
  void require(std::span<const NextToken> tokens, int64_t steps) const;
  KvStore& cache();
  // A pass without tokens of its own: only RankHooks::keys, in every layer.
  void share_keys();

  // From now on prompts attend by `attention` in layers without a window; null: by the engine's own
  // kernels. Bits are those of `attention`, so this is for baselines of time. It must outlive the
  // engine.
  void attend_prompts_by(PromptAttention* attention);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace orthros::cuda
