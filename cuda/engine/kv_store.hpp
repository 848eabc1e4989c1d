// KvStore: every layer's keys and values on the device.
#pragma once

#include <optional>
#include <vector>

#include "cuda/engine/e4m3_store.hpp"
#include "cuda/engine/engine.hpp"
#include "cuda/layout/sizes.hpp"
#include "cuda/support/device_buffer.hpp"

namespace orthros::cuda {

CacheShape cache_shape(const ModelSpec& spec, const EngineLimits& limits);
// Bytes that a KvStore takes, without taking them.
int64_t cache_bytes(const ModelSpec& spec, const EngineLimits& limits);

class KvStore {
 public:
  KvStore(const ModelSpec& spec, const EngineLimits& limits, EngineFault fault)
      : shape_(cache_shape(spec, limits)) {
    if (limits.kv == KvFormat::e4m3) {
      e4m3_.emplace(spec, limits, shape_, fault);
    } else {
      keys_ = DeviceBuffer<bf16_bits>(shape_.elements());
      values_ = DeviceBuffer<bf16_bits>(shape_.elements());
    }
  }

  // Null where entries are bf16.
  const E4m3Store* e4m3() const { return e4m3_ ? &*e4m3_ : nullptr; }
  // To write a layer's entries.
  KvView layer(int64_t layer) const {
    if (e4m3_) return e4m3_->layer(layer);
    const int64_t first = layer * shape_.layer_elements();
    return {keys_.data() + first, values_.data() + first, shape_.sequence_stride,
            shape_.head_stride};
  }
  // As attention is told of them.
  KvView seen(int64_t layer) const { return e4m3_ ? e4m3_->seen(layer) : this->layer(layer); }
  int64_t bytes() const { return keys_.bytes() + values_.bytes() + (e4m3_ ? e4m3_->bytes() : 0); }

  // The first `length` entries of a sequence, length x Hkv d.
  std::vector<bf16_bits> keys(int64_t layer, int64_t sequence, int64_t length) const {
    if (e4m3_) return e4m3_->entries(layer, sequence, length, false);
    return entries(keys_, layer, sequence, length);
  }
  std::vector<bf16_bits> values(int64_t layer, int64_t sequence, int64_t length) const {
    if (e4m3_) return e4m3_->entries(layer, sequence, length, true);
    return entries(values_, layer, sequence, length);
  }

  // Every entry, written or not, random and about normal.
  void draw(cudaStream_t stream);
  // NaN, of e4m3 entries 0x7f, in every entry of a sequence from `length` on.
  void poison(int64_t sequence, int64_t length, cudaStream_t stream);

 private:
  std::vector<bf16_bits> entries(const DeviceBuffer<bf16_bits>& from, int64_t layer,
                                 int64_t sequence, int64_t length) const;

  CacheShape shape_;
  DeviceBuffer<bf16_bits> keys_;
  DeviceBuffer<bf16_bits> values_;
  std::optional<E4m3Store> e4m3_;
};

}  // namespace orthros::cuda
