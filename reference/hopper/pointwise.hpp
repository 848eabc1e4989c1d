// The pointwise operations: SwiGLU, gates, scale-offset, RoPE, residuals.
#pragma once

#include "reference/hopper/exp2.hpp"

namespace orthros::hopper {

inline constexpr float minus_log2_e = -0x1.715476p+0f;

// 1 + e^-x. e^-x stops growing at 2^127.
ORTHROS_HOST_DEVICE inline float one_plus_exp_minus(float x) {
  return add(1.0f, power_of_two(smaller(multiply(x, minus_log2_e), exp2_most)));
}
ORTHROS_HOST_DEVICE inline float sigmoid(float x) {
  return divide(1.0f, one_plus_exp_minus(x));
}
ORTHROS_HOST_DEVICE inline float silu(float x) {
  return divide(x, one_plus_exp_minus(x));
}
// An element of SwiGLU before it is rounded.
ORTHROS_HOST_DEVICE inline float gated(float gate, float up) {
  return multiply(silu(gate), up);
}

ORTHROS_HOST_DEVICE inline float scale_offset(float alpha, float x, float beta) {
  return fused(alpha, x, beta);
}

// A half-split pair (x, y) turned by one angle: first (x cos - y sin), second (y cos + x sin).
ORTHROS_HOST_DEVICE inline float rotated_first(float x, float y, float cosine, float sine) {
  return fused(-y, sine, multiply(x, cosine));
}
ORTHROS_HOST_DEVICE inline float rotated_second(float x, float y, float cosine, float sine) {
  return fused(x, sine, multiply(y, cosine));
}

}  // namespace orthros::hopper
