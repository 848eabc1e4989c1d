// Layers: one pass through the model, DESIGN's equations as kernel launches in their order.
#pragma once

#include <memory>

#include "cuda/engine/buffers.hpp"
#include "cuda/engine/device_model.hpp"
#include "cuda/engine/kv_store.hpp"
#include "cuda/engine/prompt_attention.hpp"
#include "cuda/engine/rank_hooks.hpp"
#include "cuda/kernels/attention.hpp"
#include "cuda/kernels/elementwise.hpp"
#include "cuda/linear/linear.hpp"

namespace orthros::cuda {

// The rows of a pass as they stand in Buffers: base rows, then with two streams a copy for each
// prediction. Counts are the host's; places and lengths are in device memory.
struct Pass {
  int64_t rows = 0;
  int64_t base_rows = 0;
  int64_t live = 0;      // predictions: the last rows with two streams, else live_sources'
  bool gathers = false;  // predictions are read from live_sources
  bool decodes = false;  // base rows of one token each, and what is predicted enters next
  int64_t runs = 0;
  int64_t longest_run = 0;
  int64_t base_tiles = 0;
  int64_t live_tiles = 0;
  std::vector<QueryRun> prompt_runs;  // the runs as they stand in the sequences
};

class Layers {
  // First of all, since choosing algorithms takes memory that buffers and caches then get.
  std::unique_ptr<Linears> linears_;

 public:
  Layers(const DeviceModel& model, const EngineLimits& limits, EngineFault fault,
         const RankHooks& hooks);

  // Rows a tile may have, for planning.
  int64_t tile_rows() const;
  // Changes a prompt's runs, the rows that attention is told of and base rows' tiles into what
  // attend_base reads where it reads entries out of a scratch cache.
  void to_scratch(std::vector<QueryRun>& runs, std::vector<Row>& rows,
                  std::vector<RowTile>& tiles) const;
  // From Buffers' tokens and places to logits and predicted tokens. Nothing waits; everything is in
  // `stream`.
  void run(const Pass& pass, cudaStream_t stream);

  Buffers buffers;
  KvStore cache;
  OpObserver observer;
  PromptAttention* prompt_attention = nullptr;  // none: kernels

 private:
  // Rows of a packed tensor from `first` on.
  struct Span {
    int64_t first;
    int64_t count;
  };

  void last_layer(const Pass& pass, cudaStream_t stream);
  void place(size_t layer, Span rows, bool queries, bool keys, const Pass& pass,
             cudaStream_t stream);
  void attend(size_t layer, const Pass& pass, cudaStream_t stream);
  void attend_base(const Attention& call, const Pass& pass);
  void attend_widened(const Attention& call, const Pass& pass);
  void attend_few(const Attention& call, int64_t base_rows, int64_t rows, const Pass& pass);
  void finish_layer(size_t layer, bf16_bits* x, bf16_bits* n, Span rows, const bf16_bits* next_norm,
                    cudaStream_t stream);
  void predict(const bf16_bits* n, const Pass& pass, cudaStream_t stream);

  void done(const char* op) const {
    if (observer) observer(op);
  }
  const SoftmaxAttention& mixer(size_t layer) const;
  Norm norm(const bf16_bits* gain, int64_t width) const;
  // Whether a prompt's entries go to the whole layer first, whence ranks keep what they are dealt.
  bool brings_together(const Pass& pass) const { return hooks_.keys != nullptr && !pass.decodes; }
  Attention attention(size_t layer, const Pass& pass, cudaStream_t stream) const;

  const DeviceModel& model_;
  EngineFault fault_;
  RankHooks hooks_;
  AttentionShape shape_;
  DeviceBuffer<float> rotary_;  // context x width / 2 x {cos, sin}
  int64_t rotary_width_ = 0;
};

}  // namespace orthros::cuda
