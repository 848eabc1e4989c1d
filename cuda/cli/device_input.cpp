// Brings weights to the device.
#include "cuda/cli/device_input.hpp"

#include "reference/cli_support/progress.hpp"

namespace orthros::cuda {

DeviceModel load_on_device(const cli::ModelInput& input) {
  if (input.seed) return {input.spec, *input.seed};
  cli::Progress progress("reading weights", parameter_count(input.spec));
  return {input.spec, *input.weights, [&](int64_t elements) { progress.add(elements); }};
}

cli::ComputeOptions engine_compute(KvFormat kv) {
  cli::ComputeOptions compute;
  compute.scalar = kv == KvFormat::e4m3 ? "hopper-gpu-fp8-kv" : "hopper-gpu";
  return compute;
}

}  // namespace orthros::cuda
