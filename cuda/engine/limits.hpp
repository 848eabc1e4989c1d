// What an engine refuses before it takes memory.
#pragma once

#include "cuda/engine/engine.hpp"

namespace orthros::cuda {

// InputError where the build seeds no faults.
void check_fault(EngineFault fault);
// InputError for limits that make no sense or exceed the free device memory.
void check_limits(const ModelSpec& spec, const EngineLimits& limits);

}  // namespace orthros::cuda
