// E4m3Store: every layer's keys and values as e4m3 entries, and one layer's of a run in bf16.
#pragma once

#include <vector>

#include "cuda/engine/engine.hpp"
#include "cuda/layout/key_ranges.hpp"
#include "cuda/layout/sizes.hpp"
#include "cuda/support/device_buffer.hpp"

namespace orthros::cuda {

// The widest window of a spec's layers; 0 where one has none.
int64_t widest_window(const ModelSpec& spec);

// A prompt's attention reads bf16: run by run, a layer's entries that the run's base rows see are
// widened into a scratch cache of one sequence (cuda/layout/near_keys.hpp).
class E4m3Store {
 public:
  // `shape`: of the caches.
  E4m3Store(const ModelSpec& spec, const EngineLimits& limits, const CacheShape& shape,
            EngineFault fault);

  // A layer's entries, to write, and as attention is told of them: other scales by a fault only.
  KvView layer(int64_t layer) const { return view(layer, exponents_); }
  KvView seen(int64_t layer) const { return view(layer, seen_exponents_); }
  // No layer has such a scratch cache where plain attention reads the entries themselves.
  bool widens() const { return scratch_shape_.layers > 0; }
  KvView scratch() const {
    return {scratch_keys_.data(), scratch_values_.data(), scratch_shape_.sequence_stride,
            scratch_shape_.head_stride};
  }

  int64_t bytes() const {
    return keys_.bytes() + values_.bytes() + scratch_keys_.bytes() + scratch_values_.bytes() +
           exponents_.bytes() + seen_exponents_.bytes();
  }
  // Keys or values of a sequence at positions `range` times their scales, bf16 bits, (end - begin)
  // x Hkv d.
  std::vector<bf16_bits> entries(int64_t layer, int64_t sequence, KeyRange range,
                                 bool values) const;
  void draw(cudaStream_t stream);
  // 0x7f in every entry of a sequence from `length` on, NaN in the scratch cache.
  void poison(int64_t sequence, int64_t length, cudaStream_t stream);

 private:
  KvView view(int64_t layer, const DeviceBuffer<int8_t>& exponents) const;

  CacheShape shape_;
  CacheShape scratch_shape_;
  hopper::KvScales scales_;
  DeviceBuffer<uint8_t> keys_;
  DeviceBuffer<uint8_t> values_;
  DeviceBuffer<int8_t> exponents_;  // layers x {keys, values} x Hkv
  DeviceBuffer<int8_t> seen_exponents_;
  DeviceBuffer<bf16_bits> scratch_keys_;
  DeviceBuffer<bf16_bits> scratch_values_;
};

// Bytes that an E4m3Store takes, without taking them.
int64_t e4m3_store_bytes(const ModelSpec& spec, const EngineLimits& limits,
                         const CacheShape& shape);

}  // namespace orthros::cuda
