// ShardAttention: one rank's part of the output attention over a cache that several ranks hold.
#pragma once

#include <vector>

#include "cuda/engine/rank_hooks.hpp"
#include "cuda/group/exchange.hpp"
#include "cuda/kernels/split_partials.hpp"
#include "cuda/layout/shard_plan.hpp"
#include "cuda/support/device_buffer.hpp"

namespace orthros::cuda {

// Every rank runs the same output rows. Each takes the splits it holds, for all heads; then every
// rank gathers all splits' partial softmaxes of its slice of the heads and folds them left to right
// in the splits' order, which is the one order whoever holds them; then all hand each other the
// heads they have folded. Two exchanges, however many ranks there are, and no rank merges alone.
class ShardAttention : public OutputAttention {
 public:
  struct Size {
    int64_t sequences;
    int64_t rows;     // output rows at once
    int64_t held;     // splits of a sequence on a rank, at most
    int64_t context;  // splits of a sequence, at most
  };
  ShardAttention(const AttentionShape& shape, Exchange& exchange, int32_t rank, int32_t ranks,
                 const Size& size);

  // Who holds a sequence's splits from now on.
  void place(int64_t sequence, const SplitHolders& holders, cudaStream_t stream);

  void attend(const Attention& call, int64_t base_rows, int64_t rows,
              const OpObserver& observer) override;
  bool captures() const override { return exchange_.captures(); }
  int64_t bytes() const;  // of device memory

 private:
  HeadSlice slice(int32_t rank) const { return head_slice(shape_.query_heads, rank, ranks_); }
  void gather(int64_t rows, cudaStream_t stream);
  void merge(const Attention& call, int64_t base_rows, int64_t rows);
  void spread(const Attention& call, int64_t base_rows, int64_t rows);

  AttentionShape shape_;
  Exchange& exchange_;
  int32_t rank_;
  int32_t ranks_;
  Size size_;
  DeviceBuffer<int32_t> held_;        // sequences x held
  DeviceBuffer<int32_t> counts_;      // sequences
  DeviceBuffer<SplitPlace> places_;   // sequences x context
  DeviceBuffer<float> own_;           // this rank's splits: values, most, sum
  DeviceBuffer<float> gathered_;      // all ranks' for this rank's heads, likewise
  DeviceBuffer<bf16_bits> merged_;    // rows x slice heads x d
  DeviceBuffer<bf16_bits> of_ranks_;  // all ranks' merged_, one behind the other
};

}  // namespace orthros::cuda
