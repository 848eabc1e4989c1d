// Ends a probe program with the text of a CUDA error.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define ORTHROS_PROBE_CHECK(call)                                         \
  do {                                                                    \
    const cudaError_t error = (call);                                     \
    if (error != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (false)
