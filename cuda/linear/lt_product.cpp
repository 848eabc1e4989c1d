// LtProduct: products through cuBLASLt.
#include "cuda/linear/lt_product.hpp"

#include <string>

namespace orthros::cuda {
namespace {

constexpr int64_t workspace_bytes = int64_t{64} << 20;
constexpr uint32_t pointer_alignment = 16;

void require_success(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError(std::string(call) + ": " + cublasLtGetStatusString(status));
}
#define ORTHROS_LT(call) require_success((call), #call)

// cuBLASLt is column-major: y^T = W x^T, with W's rows as columns that are transposed.
struct Layouts {
  Layouts(const Weight& w, const Input& x, int64_t y_stride) {
    const auto in = static_cast<uint64_t>(w.in);
    const auto out = static_cast<uint64_t>(w.out);
    const auto rows = static_cast<uint64_t>(x.rows);
    ORTHROS_LT(cublasLtMatrixLayoutInit(&weight, CUDA_R_16BF, in, out, w.stride));
    ORTHROS_LT(cublasLtMatrixLayoutInit(&input, CUDA_R_16BF, in, rows, x.stride));
    ORTHROS_LT(cublasLtMatrixLayoutInit(&result, CUDA_R_16BF, out, rows, y_stride));
  }
  cublasLtMatrixLayoutOpaque_t weight;
  cublasLtMatrixLayoutOpaque_t input;
  cublasLtMatrixLayoutOpaque_t result;
};

// Ids 13 and 16 were seen to differ from the chain though they report no split and no reduction
// (reference/hopper/ARITHMETIC.md), at sizes where few results show it.
bool in_order(const cublasLtMatmulAlgo_t& algorithm) {
  const int id = LtProduct::id(algorithm);
  uint32_t reduction = 0;
  ORTHROS_LT(cublasLtMatmulAlgoConfigGetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME,
                                                  &reduction, sizeof reduction, nullptr));
  return id != 13 && id != 16 && LtProduct::splits(algorithm) <= 1 &&
         reduction == CUBLASLT_REDUCTION_SCHEME_NONE;
}

}  // namespace

LtProduct::LtProduct(SumOrder order) : order_(order), workspace_(workspace_bytes) {
  ORTHROS_LT(cublasLtCreate(&handle_));
  ORTHROS_LT(cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  const cublasOperation_t transposed = CUBLAS_OP_T;
  ORTHROS_LT(cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                            sizeof transposed));
  ORTHROS_LT(cublasLtMatmulPreferenceCreate(&preference_));
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    ORTHROS_LT(cublasLtMatmulPreferenceSetAttribute(preference_, attribute, &value, sizeof value));
  };
  const uint32_t reductions = order == SumOrder::any ? CUBLASLT_REDUCTION_SCHEME_MASK : 0;
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(workspace_bytes));
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    prefer(attribute, pointer_alignment);
  }
}

LtProduct::~LtProduct() {
  cublasLtMatmulPreferenceDestroy(preference_);
  cublasLtMatmulDescDestroy(operation_);
  cublasLtDestroy(handle_);
}

int LtProduct::id(const cublasLtMatmulAlgo_t& algorithm) {
  int32_t id = 0;
  ORTHROS_LT(cublasLtMatmulAlgoConfigGetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_ID, &id,
                                                  sizeof id, nullptr));
  return id;
}

int LtProduct::splits(const cublasLtMatmulAlgo_t& algorithm) {
  int32_t splits = 0;
  ORTHROS_LT(cublasLtMatmulAlgoConfigGetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM,
                                                  &splits, sizeof splits, nullptr));
  return splits;
}

std::vector<cublasLtMatmulAlgo_t> LtProduct::offered(const Weight& w, const Input& x,
                                                     int64_t y_stride, int most) const {
  Layouts layouts(w, x, y_stride);
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<size_t>(most));
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle_, operation_, &layouts.weight, &layouts.input, &layouts.result, &layouts.result,
      preference_, most, found.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  ORTHROS_LT(status);
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  for (int i = 0; i < count; ++i) {
    const auto& candidate = found[static_cast<size_t>(i)];
    if (candidate.state != CUBLAS_STATUS_SUCCESS) continue;
    if (order_ == SumOrder::any || in_order(candidate.algo)) algorithms.push_back(candidate.algo);
  }
  return algorithms;
}

bool LtProduct::multiply(const cublasLtMatmulAlgo_t& algorithm, const Weight& w, const Input& x,
                         bf16_bits* y, int64_t y_stride, cudaStream_t stream) const {
  Layouts layouts(w, x, y_stride);
  const float one = 1.0f;
  const float zero = 0.0f;
  const cublasStatus_t status =
      cublasLtMatmul(handle_, operation_, &one, w.data, &layouts.weight, x.data, &layouts.input,
                     &zero, y, &layouts.result, y, &layouts.result, &algorithm, workspace_.data(),
                     static_cast<size_t>(workspace_bytes), stream);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return false;
  ORTHROS_LT(status);
  return true;
}

}  // namespace orthros::cuda
