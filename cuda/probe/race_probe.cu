// What compute-sanitizer's racecheck says about copies that hand over through a barrier in shared
// memory, as split attention's and row_product's rings do.
//
//   nvcc -std=c++20 -O2 -gencode arch=compute_90a,code=sm_90a -I. cuda/probe/race_probe.cu -o
//   race_probe for way in stores async library none; do
//     compute-sanitizer --tool racecheck --racecheck-report analysis ./race_probe $way
//   done
//
// One warp brings 512 bytes into shared memory, the other reads them once the barrier's phase has
// ended. stores: by ordinary stores and arrivals. async: by cp.async and its deferred arrival, our
// rings' way. library: by the toolkit's cuda::memcpy_async and cuda::barrier, nothing of ours.
// none: by cp.async with no barrier to wait at, a real race. All but the last are right by the
// programming guide's rules; a report of theirs is what racecheck cannot see. Exit 1 where the data
// is wrong.
#include <cuda/barrier>

#include <cstdio>
#include <cstring>

#include "cuda/kernels/mma.hpp"
#include "cuda/probe/cuda_check.hpp"

namespace {

using orthros::cuda::barrier_arrive;
using orthros::cuda::barrier_arrive_after_copies;
using orthros::cuda::barrier_init;
using orthros::cuda::barrier_wait;
using orthros::cuda::copy_or_zero;

constexpr int words = 128;  // four a lane, 16 bytes

enum Way { stores, async, library, none };

__device__ uint32_t address_of(void* shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

template <Way way>
__global__ void hand_over(const int* from, int* to) {
  __shared__ alignas(16) int data[words];
  __shared__ alignas(8) unsigned long long plain;
  __shared__ cuda::barrier<cuda::thread_scope_block> theirs;
  const int lane = threadIdx.x % 32;
  const bool brings = threadIdx.x < 32;
  if (threadIdx.x == 0) {
    barrier_init(address_of(&plain), 32);
    init(&theirs, way == library ? 64 : 1);
  }
  __syncthreads();
  if constexpr (way == library) {
    if (brings) {
      cuda::memcpy_async(data + 4 * lane, from + 4 * lane, cuda::aligned_size_t<16>(16), theirs);
    }
    theirs.arrive_and_wait();
    if (!brings) {
      for (int i = 0; i < 4; ++i) to[4 * lane + i] = data[(4 * lane + i + 4) % words];
    }
    return;
  }
  if (brings) {
    if constexpr (way == stores) {
      for (int i = 0; i < 4; ++i) data[4 * lane + i] = from[4 * lane + i];
      barrier_arrive(address_of(&plain));
    } else {
      copy_or_zero(address_of(data + 4 * lane), from + 4 * lane, true);
      barrier_arrive_after_copies(address_of(&plain));
    }
  } else {
    if constexpr (way != none) barrier_wait(address_of(&plain), 0);
    for (int i = 0; i < 4; ++i) to[4 * lane + i] = data[(4 * lane + i + 4) % words];
  }
}

template <Way way>
int run() {
  int host[words];
  for (int i = 0; i < words; ++i) host[i] = 3 * i + 1;
  int* from = nullptr;
  int* to = nullptr;
  ORTHROS_PROBE_CHECK(cudaMalloc(&from, sizeof host));
  ORTHROS_PROBE_CHECK(cudaMalloc(&to, sizeof host));
  ORTHROS_PROBE_CHECK(cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice));
  hand_over<way><<<1, 64>>>(from, to);
  int back[words];
  ORTHROS_PROBE_CHECK(cudaMemcpy(back, to, sizeof back, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < words; ++i) wrong += back[i] != host[(i + 4) % words];
  std::printf("%d of %d words wrong\n", wrong, words);
  ORTHROS_PROBE_CHECK(cudaFree(from));
  ORTHROS_PROBE_CHECK(cudaFree(to));
  return way != none && wrong > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "async";
  if (std::strcmp(way, "stores") == 0) return run<stores>();
  if (std::strcmp(way, "library") == 0) return run<library>();
  if (std::strcmp(way, "none") == 0) return run<none>();
  return run<async>();
}
