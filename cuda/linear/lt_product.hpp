// LtProduct: products through cuBLASLt, with reductions across blocks forbidden.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <vector>

#include "cuda/linear/linear.hpp"
#include "cuda/support/device_buffer.hpp"

namespace orthros::cuda {

class LtProduct {
 public:
  LtProduct();
  ~LtProduct();
  LtProduct(const LtProduct&) = delete;
  LtProduct& operator=(const LtProduct&) = delete;

  // Up to `most` algorithms for bf16 results of this shape, the likely fastest first, without those
  // that split k or are known to leave the chain's order.
  std::vector<cublasLtMatmulAlgo_t> offered(const Weight& w, const Input& x, int64_t y_stride,
                                            int most) const;
  static int id(const cublasLtMatmulAlgo_t& algorithm);

  // False, with nothing launched, where the algorithm does not run this many rows.
  bool multiply(const cublasLtMatmulAlgo_t& algorithm, const Weight& w, const Input& x,
                bf16_bits* y, int64_t y_stride, cudaStream_t stream) const;

 private:
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
  DeviceBuffer<uint8_t> workspace_;
};

}  // namespace orthros::cuda
