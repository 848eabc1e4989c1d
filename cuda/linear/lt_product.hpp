// LtProduct: products through cuBLASLt, in the chain's order or in any.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <vector>

#include "cuda/linear/linear.hpp"
#include "cuda/support/device_buffer.hpp"

namespace orthros::cuda {

// How the products of a sum over k may be added up.
enum class SumOrder {
  chain,  // no split of k, no reduction across blocks: the engine's
  any     // for measuring what the chain costs
};

class LtProduct {
 public:
  explicit LtProduct(SumOrder order = SumOrder::chain);
  ~LtProduct();
  LtProduct(const LtProduct&) = delete;
  LtProduct& operator=(const LtProduct&) = delete;

  // Up to `most` algorithms for bf16 results of this shape, the likely fastest first; for
  // SumOrder::chain without those that split k or are known to leave the chain's order.
  std::vector<cublasLtMatmulAlgo_t> offered(const Weight& w, const Input& x, int64_t y_stride,
                                            int most) const;
  static int id(const cublasLtMatmulAlgo_t& algorithm);
  static int splits(const cublasLtMatmulAlgo_t& algorithm);  // of k

  // False, with nothing launched, where the algorithm does not run this many rows.
  bool multiply(const cublasLtMatmulAlgo_t& algorithm, const Weight& w, const Input& x,
                bf16_bits* y, int64_t y_stride, cudaStream_t stream) const;

 private:
  SumOrder order_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
  DeviceBuffer<uint8_t> workspace_;
};

}  // namespace orthros::cuda
