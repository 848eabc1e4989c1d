// The float32 operations of the arithmetic, spelled alike for the host and for a CUDA device.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define ORTHROS_HOST_DEVICE __host__ __device__
#else
#define ORTHROS_HOST_DEVICE
#endif

namespace orthros::hopper {

// Each is one IEEE operation, rounded to nearest even, with subnormals kept. The device's
// intrinsics are never contracted, whatever -fmad says; host code that includes this is built with
// -ffp-contract=off. Device code must not be built with -ftz=true (so not with -use_fast_math).
#ifdef __CUDA_ARCH__
#define ORTHROS_DEVICE_OR_HOST(device, host) return device
#else
#define ORTHROS_DEVICE_OR_HOST(device, host) return host
#endif
ORTHROS_HOST_DEVICE inline float add(float x, float y) {
  ORTHROS_DEVICE_OR_HOST(__fadd_rn(x, y), x + y);
}
ORTHROS_HOST_DEVICE inline float subtract(float x, float y) {
  ORTHROS_DEVICE_OR_HOST(__fsub_rn(x, y), x - y);
}
ORTHROS_HOST_DEVICE inline float multiply(float x, float y) {
  ORTHROS_DEVICE_OR_HOST(__fmul_rn(x, y), x * y);
}
ORTHROS_HOST_DEVICE inline float divide(float x, float y) {
  ORTHROS_DEVICE_OR_HOST(__fdiv_rn(x, y), x / y);
}
// 1 / x. Of an attention row's sum there is one; each element of the output is multiplied by it.
ORTHROS_HOST_DEVICE inline float reciprocal(float x) {
  ORTHROS_DEVICE_OR_HOST(__frcp_rn(x), 1.0f / x);
}
ORTHROS_HOST_DEVICE inline float square_root(float x) {
  ORTHROS_DEVICE_OR_HOST(__fsqrt_rn(x), std::sqrt(x));
}
// x y + z, rounded once.
ORTHROS_HOST_DEVICE inline float fused(float x, float y, float z) {
  ORTHROS_DEVICE_OR_HOST(__fmaf_rn(x, y, z), std::fma(x, y, z));
}
ORTHROS_HOST_DEVICE inline uint32_t bits_of(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
#endif
}
ORTHROS_HOST_DEVICE inline float from_bits(uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
#endif
}
#undef ORTHROS_DEVICE_OR_HOST

// The larger, NaN where either is. Which zero comes out of two zeros is left open: nothing that
// uses it depends on that.
ORTHROS_HOST_DEVICE inline float larger(float x, float y) {
#ifdef __CUDA_ARCH__
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(x), "f"(y));
  return result;
#else
  return x != x || x > y ? x : y;
#endif
}
ORTHROS_HOST_DEVICE inline float smaller(float x, float y) {
#ifdef __CUDA_ARCH__
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(x), "f"(y));
  return result;
#else
  return x != x || x < y ? x : y;
#endif
}

}  // namespace orthros::hopper
