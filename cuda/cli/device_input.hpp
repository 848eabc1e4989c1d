// A ModelInput's weights on the device.
#pragma once

#include "cuda/engine/device_model.hpp"
#include "cuda/engine/runner.hpp"
#include "reference/cli/compute_options.hpp"
#include "reference/cli/model_options.hpp"

namespace orthros::cuda {

// Random weights are drawn there; a checkpoint's are read, with progress.
DeviceModel load_on_device(const cli::ModelInput& input);

// How reports name this arithmetic beside the reference's scalars: hopper-gpu, or
// hopper-gpu-fp8-kv.
cli::ComputeOptions engine_compute(KvFormat kv);

}  // namespace orthros::cuda
