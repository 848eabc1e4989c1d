// Makes tensor maps through the driver's encoder, which the runtime finds.
#include "cuda/kernels/tensor_map.hpp"

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include "cuda/support/cuda_error.hpp"

namespace orthros::cuda {

namespace {

PFN_cuTensorMapEncodeTiled_v12000 encoder() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  ORTHROS_CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                                cudaEnableDefault, &result));
  if (result != cudaDriverEntryPointSuccess) {
    throw DeviceError("the driver has no cuTensorMapEncodeTiled");
  }
  return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(found);
}

}  // namespace

CUtensorMap bf16_map(const bf16_bits* base, int64_t width, std::span<const MapDimension> outer) {
  static const PFN_cuTensorMapEncodeTiled_v12000 encode = encoder();
  constexpr int most = 5;
  cuuint64_t extents[most] = {static_cast<cuuint64_t>(width)};
  cuuint64_t strides[most - 1] = {};
  cuuint32_t boxes[most] = {64};
  cuuint32_t steps[most] = {1, 1, 1, 1, 1};
  cuuint32_t rank = 1;
  for (const MapDimension& dimension : outer) {
    extents[rank] = static_cast<cuuint64_t>(dimension.extent);
    strides[rank - 1] = static_cast<cuuint64_t>(dimension.stride) * sizeof(bf16_bits);
    boxes[rank] = static_cast<cuuint32_t>(dimension.box);
    ++rank;
  }
  CUtensorMap map;
  const CUresult result =
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, rank, const_cast<bf16_bits*>(base), extents,
             strides, boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw DeviceError("cuTensorMapEncodeTiled: error " + std::to_string(result));
  }
  return map;
}

}  // namespace orthros::cuda
