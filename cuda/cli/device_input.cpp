// Brings weights to the device.
#include "cuda/cli/device_input.hpp"

#include "reference/cli_support/progress.hpp"

namespace orthros::cuda {

DeviceModel load_on_device(const cli::ModelInput& input) {
  if (input.seed) return {input.spec, *input.seed};
  cli::Progress progress("reading weights", parameter_count(input.spec));
  return {input.spec, *input.weights, [&](int64_t elements) { progress.add(elements); }};
}

cli::ComputeOptions engine_compute() {
  cli::ComputeOptions compute;
  compute.scalar = "hopper-gpu";
  return compute;
}

}  // namespace orthros::cuda
