// What an engine needs and what it refuses.
#include "cuda/engine/limits.hpp"

#include <fmt/format.h>

#include "cuda/engine/buffers.hpp"
#include "cuda/engine/kv_store.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {

int64_t engine_bytes(const ModelSpec& spec, const EngineLimits& limits) {
  const auto& mixer = std::get<SoftmaxAttention>(spec.layers[0].mixer);
  const int64_t rotary = mixer.rope ? limits.context * mixer.rope->width * 4 : 0;
  return buffer_bytes(spec, limits) + rotary + Linears::workspace_bytes + cache_bytes(spec, limits);
}

int64_t most_context(const ModelSpec& spec, const EngineLimits& limits, int64_t bytes) {
  EngineLimits tried = limits;
  int64_t fits = 0;
  int64_t too_much = limits.context + 1;
  while (fits + 1 < too_much) {
    tried.context = fits + (too_much - fits) / 2;
    (engine_bytes(spec, tried) <= bytes ? fits : too_much) = tried.context;
  }
  return fits;
}

void check_fault([[maybe_unused]] EngineFault fault) {
#ifndef ORTHROS_CUDA_FAULTS
  if (fault != EngineFault::none) {
    throw InputError("fault", "",
                     "expected none: this build seeds no faults; configure with "
                     "-DORTHROS_CUDA_FAULTS=ON");
  }
#endif
}

void check_limits(const ModelSpec& spec, const EngineLimits& limits) {
  const auto at_least = [](const char* field, int64_t value, int64_t least) {
    if (value < least) {
      throw InputError("engine", field, fmt::format("expected at least {}, got {}", least, value));
    }
  };
  at_least("sequences", limits.sequences, 1);
  at_least("context", limits.context, 1);
  at_least("chunk", limits.chunk, 1);
  at_least("outputs", limits.outputs, 1);
  const int64_t need = engine_bytes(spec, limits);
  size_t free = 0;
  size_t total = 0;
  ORTHROS_CUDA(cudaMemGetInfo(&free, &total));
  const auto room = static_cast<int64_t>(free);
  if (need <= room) return;
  throw InputError("engine", "context",
                   fmt::format("expected caches and buffers within {:.2f} GB of free device "
                               "memory, got {:.2f} GB for a context of {}; the largest that fits "
                               "is {}",
                               static_cast<double>(room) * 1e-9, static_cast<double>(need) * 1e-9,
                               limits.context, most_context(spec, limits, room)));
}

}  // namespace orthros::cuda
