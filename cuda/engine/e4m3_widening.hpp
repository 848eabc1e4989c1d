// E4m3Widening: the scales of e4m3 caches, and one layer's entries of a run in bf16.
#pragma once

#include <vector>

#include "cuda/engine/engine.hpp"
#include "cuda/layout/sizes.hpp"
#include "cuda/support/device_buffer.hpp"

namespace orthros::cuda {

// The widest window of a spec's layers; 0 where one has none.
int64_t widest_window(const ModelSpec& spec);

// A prompt's attention reads bf16: run by run, a layer's entries that the run's base rows see are
// widened into a scratch cache of one sequence (cuda/layout/near_keys.hpp).
class E4m3Widening {
 public:
  // `cache`: the caches' shape.
  E4m3Widening(const ModelSpec& spec, const EngineLimits& limits, const CacheShape& cache,
               EngineFault fault);

  // A layer's scales as kernels are told of them (KvView), to write, and to attention: others by a
  // fault only.
  const int8_t* exponents(int64_t layer) const { return of_layer(exponents_, layer); }
  const int8_t* seen_exponents(int64_t layer) const { return of_layer(seen_exponents_, layer); }
  int exponent(int64_t layer, bool values, int64_t head) const {
    return scales_.exponent(layer, values, head);
  }
  // No layer has such a scratch cache where plain attention reads the entries themselves.
  bool widens() const { return scratch_shape_.layers > 0; }
  KvView scratch() const {
    return {scratch_keys_.data(), scratch_values_.data(), scratch_shape_.sequence_stride,
            scratch_shape_.head_stride};
  }

  int64_t bytes() const {
    return scratch_keys_.bytes() + scratch_values_.bytes() + exponents_.bytes() +
           seen_exponents_.bytes();
  }
  void poison(cudaStream_t stream);  // NaN in the scratch cache
  // What one takes, without taking it.
  static int64_t bytes(const ModelSpec& spec, const EngineLimits& limits, const CacheShape& cache);

 private:
  const int8_t* of_layer(const DeviceBuffer<int8_t>& exponents, int64_t layer) const {
    return exponents.data() + 2 * layer * scales_.kv_heads();
  }

  CacheShape scratch_shape_;
  hopper::KvScales scales_;
  DeviceBuffer<int8_t> exponents_;  // layers x {keys, values} x Hkv
  DeviceBuffer<int8_t> seen_exponents_;
  DeviceBuffer<bf16_bits> scratch_keys_;
  DeviceBuffer<bf16_bits> scratch_values_;
};

}  // namespace orthros::cuda
