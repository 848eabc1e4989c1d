// Asks nvidia-smi for clocks.
#include "cuda/bench/timing.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include "cuda/support/cuda_error.hpp"

namespace orthros::cuda {

Clocks read_clocks() {
  int device = 0;
  std::array<char, 32> address{};
  ORTHROS_CUDA(cudaGetDevice(&device));
  ORTHROS_CUDA(cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), device));
  const std::string command = fmt::format(
      "nvidia-smi -i {} --query-gpu=clocks.sm,power.draw --format=csv,noheader,nounits 2>/dev/null",
      address.data());
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) return {};
  std::array<char, 128> line{};
  if (std::fgets(line.data(), static_cast<int>(line.size()), pipe.get()) == nullptr) return {};
  double sm = 0.0;
  double power = 0.0;
  if (std::sscanf(line.data(), "%lf , %lf", &sm, &power) != 2) return {};
  return {sm, power};
}

Timed just_timed(double seconds) {
  return {seconds, read_clocks()};
}

}  // namespace orthros::cuda
