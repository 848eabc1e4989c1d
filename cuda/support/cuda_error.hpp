// DeviceError: what a CUDA call that failed throws.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace orthros::cuda {

// A failure of the device, its driver or a library on it; not bad input.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws DeviceError with the call's name and CUDA's text where `error` is one.
inline void require_success(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  throw DeviceError(std::string(call) + ": " + cudaGetErrorString(error));
}

}  // namespace orthros::cuda

// Checks a runtime call that returns cudaError_t.
#define ORTHROS_CUDA(call) ::orthros::cuda::require_success((call), #call)
// Checks the launch just made.
#define ORTHROS_CUDA_LAUNCHED(kernel) \
  ::orthros::cuda::require_success(cudaGetLastError(), "launch of " kernel)
