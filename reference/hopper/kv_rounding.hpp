// Gives the reference's caches the values that a cache of e4m3 entries holds.
#pragma once

#include "reference/hopper/e4m3.hpp"
#include "reference/hopper/hopper.hpp"
#include "reference/hopper/kv_scales.hpp"

namespace orthros::hopper {

// Every value of a layer's new keys or values, rows x Hkv d, as it will be read: its entry times
// its scale, in bf16.
inline void round_to_entries(const KvScales& scales, int64_t layer, bool values,
                             Matrix<Hopper>& rows) {
  const int64_t width = rows.cols() / scales.kv_heads();
  for (int64_t r = 0; r < rows.rows(); ++r) {
    for (int64_t c = 0; c < rows.cols(); ++c) {
      const int exponent = scales.exponent(layer, values, c / width);
      const uint8_t entry = entry_of(static_cast<float>(rows(r, c)), exponent);
      rows(r, c) = Hopper(widen_bf16(widen_e4m3(entry, exponent)));
    }
  }
}

}  // namespace orthros::hopper
