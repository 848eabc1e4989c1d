// wide_product: y = x W^T for many rows, every output the dot_chain, by wgmma.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/linear/linear.hpp"

namespace orthros::cuda {

enum class WideResult : int32_t {
  rounded,  // bf16, rows x out
  gated     // bf16, rows x out / 2: SwiGLU of interleaved gate and up, as Linears::gated has it
};

struct WideProduct {
  Weight w;
  Input x;
  bf16_bits* y;      // 16-byte aligned
  int64_t y_stride;  // a multiple of 8
  WideResult result;
  bool overlap;  // may be placed before the kernel ahead has ended
  cudaStream_t stream;
};

// Any in, out and number of rows below 2^31; pairs of blocks take 256 rows by 192 outputs whole, so
// few rows cost as much as 256.
void launch_wide_product(const WideProduct& product);

}  // namespace orthros::cuda
