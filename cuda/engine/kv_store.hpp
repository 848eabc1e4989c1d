// KvStore: every layer's keys and values on the device.
#pragma once

#include <vector>

#include "cuda/engine/engine.hpp"
#include "cuda/layout/sizes.hpp"
#include "cuda/support/device_buffer.hpp"

namespace orthros::cuda {

CacheShape cache_shape(const ModelSpec& spec, const EngineLimits& limits);

class KvStore {
 public:
  KvStore(const ModelSpec& spec, const EngineLimits& limits)
      : shape_(cache_shape(spec, limits)), keys_(shape_.elements()), values_(shape_.elements()) {}

  KvView layer(int64_t layer) const {
    const int64_t first = layer * shape_.layer_elements();
    return {keys_.data() + first, values_.data() + first, shape_.sequence_stride,
            shape_.head_stride};
  }
  int64_t bytes() const { return keys_.bytes() + values_.bytes(); }

  // The first `length` entries of a sequence, length x Hkv d.
  std::vector<bf16_bits> keys(int64_t layer, int64_t sequence, int64_t length) const {
    return entries(keys_, layer, sequence, length);
  }
  std::vector<bf16_bits> values(int64_t layer, int64_t sequence, int64_t length) const {
    return entries(values_, layer, sequence, length);
  }

  // Every entry, written or not, random and about normal; large caches repeat what was drawn.
  void draw(cudaStream_t stream);
  // NaN in every entry of a sequence from `length` on.
  void poison(int64_t sequence, int64_t length, cudaStream_t stream);

 private:
  std::vector<bf16_bits> entries(const DeviceBuffer<bf16_bits>& from, int64_t layer,
                                 int64_t sequence, int64_t length) const;

  CacheShape shape_;
  DeviceBuffer<bf16_bits> keys_;
  DeviceBuffer<bf16_bits> values_;
};

}  // namespace orthros::cuda
