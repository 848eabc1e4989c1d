// Chooses scales.
#include "reference/hopper/kv_scales.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "reference/hopper/e4m3.hpp"
#include "reference/hopper/rounding.hpp"

namespace orthros::hopper {

KvScales::KvScales(const ModelSpec& spec)
    : layers_(static_cast<int64_t>(spec.layers.size())),
      kv_heads_(std::get<SoftmaxAttention>(spec.layers.at(0).mixer).kv_heads),
      exponents_(static_cast<size_t>(2 * layers_ * kv_heads_), 0) {}

void KvScales::set_exponent(int64_t layer, bool values, int64_t head, int exponent) {
  if (exponent < least_e4m3_exponent || exponent > most_e4m3_exponent) {
    throw std::out_of_range("exponent of a scale");
  }
  exponents_.at(place(layer, values, head)) = static_cast<int8_t>(exponent);
}

int scale_exponent(float most) {
  constexpr float half_range = 224.0f;
  if (most == 0.0f) return 0;
  for (int exponent = least_e4m3_exponent; exponent < most_e4m3_exponent; ++exponent) {
    if (most <= std::ldexp(half_range, exponent)) return exponent;
  }
  return most_e4m3_exponent;
}

KvScales fitted_scales(const ModelSpec& spec, std::span<const std::vector<uint16_t>> keys,
                       std::span<const std::vector<uint16_t>> values) {
  KvScales scales(spec);
  const int64_t width = std::get<SoftmaxAttention>(spec.layers.at(0).mixer).head_width;
  for (int64_t layer = 0; layer < scales.layers(); ++layer) {
    for (const bool of_values : {false, true}) {
      const auto& entries = (of_values ? values : keys)[static_cast<size_t>(layer)];
      std::vector<float> most(static_cast<size_t>(scales.kv_heads()), 0.0f);
      for (size_t i = 0; i < entries.size(); ++i) {
        float& here = most[i / static_cast<size_t>(width) % most.size()];
        here = std::max(here, std::abs(widen_bf16(entries[i])));
      }
      for (int64_t head = 0; head < scales.kv_heads(); ++head) {
        scales.set_exponent(layer, of_values, head,
                            scale_exponent(most[static_cast<size_t>(head)]));
      }
    }
  }
  return scales;
}

}  // namespace orthros::hopper
