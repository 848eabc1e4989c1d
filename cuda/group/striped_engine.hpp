// StripedEngine: a model without an output stream on several GPUs, its prompts' chunks dealt round.
#pragma once

#include <memory>
#include <vector>

#include "cuda/engine/engine.hpp"
#include "cuda/engine/prompt_attention.hpp"
#include "cuda/group/group.hpp"

namespace orthros::cuda {

// What Orthros is compared with. Prefill: ranks run a round of neighbouring chunks in step; in each
// layer every rank's new keys and values go round to all others before anything attends to them.
// Every rank keeps the whole cache, so the context is what one GPU holds. Decode: every rank runs
// the same steps, and nothing is sent. Caches and logits have one GPU's bits, as under any
// chunking.
class StripedEngine : public Runner {
 public:
  // Specs with one stream. `make_attention`, unless empty, gives each rank's engine its
  // Engine::attend_prompts_by. Throws as Engine does, and GroupFailure where a rank or the
  // transport fails.
  StripedEngine(const ModelSpec& spec, const ModelMaker& make_model, const EngineLimits& limits,
                const GroupOptions& options, const PromptAttentionMaker& make_attention = {});
  ~StripedEngine() override;

  std::vector<Prediction> prefill(std::span<const Prompt> prompts, Want want = Want::tokens,
                                  int64_t chunk = 0) override;
  std::vector<Prediction> decode(std::span<const NextToken> tokens, Want want = Want::tokens,
                                 Launch launch = Launch::graph) override;
  std::vector<int64_t> decode_greedily(std::span<const NextToken> tokens, int64_t steps) override;
  int64_t length(int64_t sequence) const override;
  void truncate(int64_t sequence, int64_t length) override;
  void reset() override;
  // Every rank has them all: keys are the last rank's, values the first's, so that a check sees
  // both.
  std::vector<bf16_bits> keys(int64_t layer, int64_t sequence) const override;
  std::vector<bf16_bits> values(int64_t layer, int64_t sequence) const override;
  void fill_randomly(int64_t length) override;
  void observe(OpObserver observer) override;  // of rank 0
  void poison() override;
  const ModelSpec& spec() const override { return spec_; }
  const EngineLimits& limits() const override { return limits_; }
  int64_t bytes() const override;        // of all ranks
  cudaStream_t stream() const override;  // rank 0's
  void synchronise() const override;

  int64_t weight_bytes() const { return group_.weight_bytes(); }

 private:
  struct Rank;

  Engine& engine(int32_t r) const;
  Engine& first() const { return engine(group_.first_here()); }
  void run_prompt(int32_t r, const Prompt& prompt, int64_t chunk, Want want,
                  std::span<Prediction> predictions);

  ModelSpec spec_;
  EngineLimits limits_;
  Group group_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace orthros::cuda
