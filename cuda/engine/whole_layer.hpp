// WholeLayer: one layer's entries of one whole sequence, where ranks that are dealt its splits
// bring them together for a prompt's attention.
#pragma once

#include "cuda/engine/runner.hpp"
#include "cuda/layout/sizes.hpp"
#include "cuda/support/device_buffer.hpp"

namespace orthros::cuda {

class WholeLayer {
 public:
  // For limits.deal of several ranks.
  WholeLayer(const ModelSpec& spec, const EngineLimits& limits);

  // The entries, of the kind and with the scales of `layer`'s; every sequence's rows find them.
  KvView entries(const KvView& layer) const;
  // A rank's dealt entries of positions [0, tokens) as they arrive from it, packed.
  KvView received(const KvView& layer, const Deal& from, int64_t tokens) const;
  int64_t bytes() const { return memory_.bytes(); }
  void poison(cudaStream_t stream);  // NaN, of e4m3 entries 0xff

  static int64_t bytes(const ModelSpec& spec, const EngineLimits& limits);

 private:
  KvView view(const KvView& layer, int64_t first, int64_t head_stride) const;

  CacheShape shape_;  // of one layer and sequence
  Deal deal_;
  int64_t received_elements_;     // of each other rank
  DeviceBuffer<uint8_t> memory_;  // keys, values, slack; then what each other rank sends
};

}  // namespace orthros::cuda
