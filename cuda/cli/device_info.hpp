// The device that this program runs on.
#pragma once

#include <string>

namespace orthros::cuda {

struct DeviceInfo {
  std::string gpu;     // "NVIDIA H200"
  std::string driver;  // "580.159.04", or the CUDA version that it supports
  std::string cuda;    // of the runtime: "13.0"
};

// Takes the first device of compute capability 9.0. Throws InputError where there is none.
DeviceInfo require_device();

// The commit this was built from, or "unknown".
const char* build_commit();

}  // namespace orthros::cuda
