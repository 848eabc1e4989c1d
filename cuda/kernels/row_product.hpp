// row_product: y = x W^T for few rows, every output the dot_chain, at the rate W can be read.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/linear/linear.hpp"
#include "cuda/linear/row_tiling.hpp"

namespace orthros::cuda {

enum class RowResult : int32_t {
  rounded,   // bf16, rows x out
  floating,  // float, rows x out
  gated      // bf16, rows x out / 2: SwiGLU of interleaved gate and up, as Linears::gated has it
};

struct RowProduct {
  Weight w;
  Input x;  // 16-byte aligned
  void* y;
  int64_t y_stride;
  RowResult result;
  bool overlap;  // may start before the kernel ahead has ended; reads W then, nothing else
  cudaStream_t stream;
};

// Any out, in and number of rows. The second form is for measurements of tilings.
void launch_row_product(const RowProduct& product);
void launch_row_product(const RowProduct& product, const RowTiling& tiling);

}  // namespace orthros::cuda
