// Asks nvidia-smi for clocks.
#include "cuda/bench/timing.hpp"

#include <array>
#include <cstdio>
#include <memory>
#include <string>

namespace orthros::cuda {

Clocks read_clocks() {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(
      popen("nvidia-smi --query-gpu=clocks.sm,power.draw --format=csv,noheader,nounits "
            "2>/dev/null",
            "r"),
      pclose);
  if (!pipe) return {};
  std::array<char, 128> line{};
  if (std::fgets(line.data(), static_cast<int>(line.size()), pipe.get()) == nullptr) return {};
  double sm = 0.0;
  double power = 0.0;
  if (std::sscanf(line.data(), "%lf , %lf", &sm, &power) != 2) return {};
  return {sm, power};
}

}  // namespace orthros::cuda
