// RoPE: rotates half-split pairs (i, i + width/2) by (t - 1) theta_i.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/model/operations.hpp"
#include "reference/spec/rope.hpp"

namespace orthros {

class Rotary {
 public:
  explicit Rotary(const Rope& rope)
      : frequencies_(inverse_frequencies(rope)), attention_factor_(rope.attention_factor) {}

  // Rotates one head in place. `index` is the position counted from 0: t - 1.
  template <class S>
  void rotate(Accumulator<S>* head, int64_t index) const {
    using A = Accumulator<S>;
    const auto half = static_cast<int64_t>(frequencies_.size());
    for (int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(index) * frequencies_[static_cast<size_t>(i)];
      const A cosine(static_cast<A>(std::cos(angle) * attention_factor_));
      const A sine(static_cast<A>(std::sin(angle) * attention_factor_));
      Operations<S>::rotate(head[i], head[i + half], cosine, sine);
    }
  }

 private:
  std::vector<double> frequencies_;
  double attention_factor_;
};

}  // namespace orthros
