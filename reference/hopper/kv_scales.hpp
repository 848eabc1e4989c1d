// KvScales: the scales of a cache of e4m3 entries.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/spec/model_spec.hpp"

namespace orthros::hopper {

// One power of two for the keys and one for the values of each layer and KV head, fixed before any
// entry is written: an entry is e4m3(value / scale), and is read as entry * scale.
class KvScales {
 public:
  // All 1.
  explicit KvScales(const ModelSpec& spec);

  int64_t layers() const { return layers_; }
  int64_t kv_heads() const { return kv_heads_; }
  // The scale's exponent, least_e4m3_exponent to most_e4m3_exponent.
  int exponent(int64_t layer, bool values, int64_t head) const {
    return exponents_[place(layer, values, head)];
  }
  // Throws std::out_of_range for an exponent out of range.
  void set_exponent(int64_t layer, bool values, int64_t head, int exponent);
  // A layer's: of the keys of each head, then of the values of each.
  std::span<const int8_t> of_layer(int64_t layer) const {
    return std::span(exponents_)
        .subspan(static_cast<size_t>(2 * layer * kv_heads_), static_cast<size_t>(2 * kv_heads_));
  }

 private:
  size_t place(int64_t layer, bool values, int64_t head) const {
    return static_cast<size_t>((2 * layer + (values ? 1 : 0)) * kv_heads_ + head);
  }

  int64_t layers_;
  int64_t kv_heads_;
  std::vector<int8_t> exponents_;  // [layer][keys, values][head]
};

// The exponent of the least scale by which entries reach twice `most`, a largest magnitude seen;
// the nearest one allowed where there is none, 0 for 0.
int scale_exponent(float most);

// scale_exponent of every layer's and head's largest magnitude. keys, values: one list a layer,
// tokens x Hkv d bf16 bits.
KvScales fitted_scales(const ModelSpec& spec, std::span<const std::vector<uint16_t>> keys,
                       std::span<const std::vector<uint16_t>> values);

}  // namespace orthros::hopper
