// KvStore: every layer's keys and values on the device.
#pragma once

#include <optional>
#include <vector>

#include "cuda/engine/cache_memory.hpp"
#include "cuda/engine/e4m3_widening.hpp"
#include "cuda/engine/engine.hpp"
#include "cuda/engine/whole_layer.hpp"
#include "cuda/layout/key_ranges.hpp"
#include "cuda/layout/sizes.hpp"

namespace orthros::cuda {

CacheShape cache_shape(const ModelSpec& spec, const EngineLimits& limits);
// Device memory that a cache of these limits takes; with limits.held, at most about so much.
int64_t cache_bytes(const ModelSpec& spec, const EngineLimits& limits);

class KvStore {
 public:
  // Memory for every entry, or, with limits.held, for none yet.
  KvStore(const ModelSpec& spec, const EngineLimits& limits, EngineFault fault = EngineFault::none);

  // Null where entries are bf16.
  const E4m3Widening* e4m3() const { return e4m3_ ? &*e4m3_ : nullptr; }
  // To write a layer's entries.
  KvView layer(int64_t layer) const;
  // As attention is told of them.
  KvView seen(int64_t layer) const;
  // Where ranks are dealt splits: to write and read a layer's entries of a prompt. Null otherwise.
  const WholeLayer* whole() const { return whole_ ? &*whole_ : nullptr; }
  int64_t layers() const { return shape_.layers; }
  int64_t bytes() const {
    return keys_.taken() + values_.taken() + (e4m3_ ? e4m3_->bytes() : 0) +
           (whole_ ? whole_->bytes() : 0);
  }

  // Entries of a sequence at places [begin, end), which are positions unless splits are dealt:
  // (end - begin) x Hkv d, as bf16.
  std::vector<bf16_bits> keys(int64_t layer, int64_t sequence, KeyRange range) const {
    return entries(false, layer, sequence, range);
  }
  std::vector<bf16_bits> values(int64_t layer, int64_t sequence, KeyRange range) const {
    return entries(true, layer, sequence, range);
  }

  // Makes sure of memory for these positions, and for as many behind them as kernels may touch.
  // What had none holds zeros, in `stream`'s order.
  void hold(int64_t sequence, KeyRange range, cudaStream_t stream);
  // Zeros at these positions, which have memory.
  void clear(int64_t sequence, KeyRange range, cudaStream_t stream);
  // Between a layer of the cache and packed memory: keys, then values, head by head.
  int64_t packed_bytes(KeyRange range) const;
  void pack(int64_t layer, int64_t sequence, KeyRange range, uint8_t* packed,
            cudaStream_t stream) const;
  void unpack(int64_t layer, int64_t sequence, KeyRange range, const uint8_t* packed,
              cudaStream_t stream);

  // Every entry that has memory, written or not, random and about normal; large caches repeat
  // what was drawn.
  void draw(cudaStream_t stream);
  // NaN, of e4m3 entries 0x7f, in every entry of a sequence from position `length` on that has
  // memory.
  void poison(int64_t sequence, int64_t length, cudaStream_t stream);

 private:
  void fill(int64_t sequence, KeyRange range, bf16_bits value, cudaStream_t stream);
  std::vector<bf16_bits> entries(bool values, int64_t layer, int64_t sequence,
                                 KeyRange range) const;
  // Where an entry lies in keys_ and values_.
  int64_t byte_of(int64_t layer, int64_t sequence, int64_t head, int64_t place) const {
    return size_ * (layer * shape_.layer_elements() + sequence * shape_.sequence_stride +
                    head * shape_.head_stride + place * shape_.width);
  }
  int64_t run_bytes(KeyRange range) const {
    return (range.end - range.begin) * shape_.width * size_;
  }
  int64_t context() const { return shape_.head_stride / shape_.width; }

  CacheShape shape_;
  int64_t size_;  // bytes of an entry's element
  Deal deal_;
  CacheMemory keys_;
  CacheMemory values_;
  std::vector<std::vector<KeyRange>> held_;  // by sequence, as asked for
  std::optional<E4m3Widening> e4m3_;
  std::optional<WholeLayer> whole_;
};

}  // namespace orthros::cuda
