// Finds a device.
#include "cuda/cli/device_info.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "build_commit.hpp"
#include "cuda/support/cuda_error.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {
namespace {

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// The driver's own version where the kernel module tells it: the word behind "Module".
std::string driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line, word;
  std::getline(file, line);
  std::istringstream words(line);
  bool behind = false;
  while (words >> word) {
    const bool version = word.find('.') != std::string::npos &&
                         word.find_first_not_of("0123456789.") == std::string::npos;
    if (behind && version) return word;
    behind = behind || word == "Module";
  }
  int supported = 0;
  ORTHROS_CUDA(cudaDriverGetVersion(&supported));
  return "for CUDA " + version_text(supported);
}

int attribute(cudaDeviceAttr what, int device) {
  int value = 0;
  ORTHROS_CUDA(cudaDeviceGetAttribute(&value, what, device));
  return value;
}

}  // namespace

DeviceInfo require_device() {
  constexpr const char* expected = "expected a CUDA device of compute capability 9.0, found";
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    throw InputError("device", "",
                     fmt::format("{} none ({})", expected, cudaGetErrorString(error)));
  }
  std::string others;
  for (int device = 0; device < count; ++device) {
    const int major = attribute(cudaDevAttrComputeCapabilityMajor, device);
    const int minor = attribute(cudaDevAttrComputeCapabilityMinor, device);
    cudaDeviceProp properties{};
    ORTHROS_CUDA(cudaGetDeviceProperties(&properties, device));
    if (major == 9 && minor == 0) {
      ORTHROS_CUDA(cudaSetDevice(device));
      int runtime = 0;
      ORTHROS_CUDA(cudaRuntimeGetVersion(&runtime));
      return {properties.name, driver_version(), version_text(runtime)};
    }
    others +=
        fmt::format("{}{} ({}.{})", others.empty() ? "" : ", ", properties.name, major, minor);
  }
  throw InputError("device", "", fmt::format("{} {}", expected, others.empty() ? "none" : others));
}

const char* build_commit() {
  return ORTHROS_COMMIT;
}

}  // namespace orthros::cuda
