// Scales of an e4m3 cache from what a model's keys and values are.
#pragma once

#include <cstdint>
#include <span>

#include "cuda/engine/device_model.hpp"
#include "reference/hopper/kv_scales.hpp"

namespace orthros::cuda {

// hopper::fitted_scales of the bf16 cache that `tokens`, at least one, leave: a run of its own,
// before there is an engine whose caches have these scales. Throws as Engine does.
hopper::KvScales calibrated_scales(const DeviceModel& model, std::span<const int64_t> tokens);

}  // namespace orthros::cuda
