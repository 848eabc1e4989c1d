// Kernel launches that may begin before the one in front has ended.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/support/cuda_error.hpp"

namespace orthros::cuda {

struct Grid {
  dim3 blocks;
  dim3 threads;
  size_t shared_bytes = 0;
};

inline unsigned blocks_for(int64_t items, int64_t per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

// Launches with programmatic dependent launch: the kernel's blocks may be placed while the kernel
// in front of it drains, so it must call begin_after_previous() before it touches memory that
// others write or read.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const Grid& grid, cudaStream_t stream,
            Arguments&&... arguments) {
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid.blocks;
  config.blockDim = grid.threads;
  config.dynamicSmemBytes = grid.shared_bytes;
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = 1;
  ORTHROS_CUDA(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...));
}

#ifdef __CUDACC__
// Lets the next kernel's blocks be placed, then waits for the kernel in front to end.
__device__ inline void begin_after_previous() {
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
}

// The first kernel of a pass: the others are placed once everything before the pass has ended, so
// they may read what was written then before they wait for the kernel in front.
__device__ inline void begin_pass() {
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
}
#endif

}  // namespace orthros::cuda
