// What compute-sanitizer's racecheck says about copies that hand over through a barrier in shared
// memory, as split attention's and row_product's rings do.
//
//   nvcc -std=c++20 -O2 -gencode arch=compute_90a,code=sm_90a -I. cuda/probe/race_probe.cu -o
//   race_probe for way in stores async library none reuse reuse_each; do
//     compute-sanitizer --tool racecheck --racecheck-report analysis ./race_probe $way
//   done
//
// One warp brings 512 bytes into shared memory, the other reads them once the barrier's phase has
// ended. stores: by ordinary stores and arrivals. async: by cp.async and its deferred arrival, our
// rings' way. library: by the toolkit's cuda::memcpy_async and cuda::barrier, nothing of ours.
// none: by cp.async with no barrier to wait at, a real race.
//
// reuse: the way back. The same bytes are brought a second time into the same place, once the
// reading warp has met (__syncwarp) and its first lane has arrived for all, as our rings' slots are
// used again. reuse_each: likewise, but every reading lane arrives for itself.
//
// All but `none` are right by the programming guide's rules; a report of theirs is what racecheck
// cannot see. Exit 1 where the data is wrong.
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

constexpr int rounds = 2;  // of a slot

// `from` holds `rounds` times `words`, which go through one slot; `each`: every reader arrives.
template <bool each>
__global__ void use_again(const int* from, int* to) {
  __shared__ alignas(16) int data[words];
  __shared__ alignas(8) unsigned long long full;
  __shared__ alignas(8) unsigned long long empty;
  const int lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    barrier_init(address_of(&full), 32);
    barrier_init(address_of(&empty), each ? 32 : 1);
  }
  __syncthreads();
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x < 32) {
      barrier_wait(address_of(&empty), round % 2 ^ 1);
      copy_or_zero(address_of(data + 4 * lane), from + round * words + 4 * lane, true);
      barrier_arrive_after_copies(address_of(&full));
      continue;
    }
    barrier_wait(address_of(&full), round % 2);
    int read[4];
    for (int i = 0; i < 4; ++i) read[i] = data[(4 * lane + i + 4) % words];
    if constexpr (!each) __syncwarp();
    if (each || lane == 0) barrier_arrive(address_of(&empty));
    for (int i = 0; i < 4; ++i) to[round * words + 4 * lane + i] = read[i];
  }
}

// Prints and counts the words of `rounds` rounds that are not what was brought, one quad on.
template <class Launch>
int wrong_words(int all, const Launch& launch) {
  int host[rounds * words];
  for (int i = 0; i < rounds * words; ++i) host[i] = 3 * i + 1;
  int* from = nullptr;
  int* to = nullptr;
  ORTHROS_PROBE_CHECK(cudaMalloc(&from, sizeof host));
  ORTHROS_PROBE_CHECK(cudaMalloc(&to, sizeof host));
  ORTHROS_PROBE_CHECK(cudaMemcpy(from, host, sizeof host, cudaMemcpyHostToDevice));
  launch(from, to);
  int back[rounds * words];
  ORTHROS_PROBE_CHECK(cudaMemcpy(back, to, sizeof back, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int i = 0; i < all * words; ++i) {
    wrong += back[i] != host[i / words * words + (i + 4) % words];
  }
  std::printf("%d of %d words wrong\n", wrong, all * words);
  ORTHROS_PROBE_CHECK(cudaFree(from));
  ORTHROS_PROBE_CHECK(cudaFree(to));
  return wrong;
}

template <Way way>
int once() {
  return wrong_words(1, [](const int* from, int* to) { hand_over<way><<<1, 64>>>(from, to); });
}
template <bool each>
int again() {
  return wrong_words(rounds,
                     [](const int* from, int* to) { use_again<each><<<1, 64>>>(from, to); });
}

}  // namespace

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "async";
  const auto is = [&](const char* name) { return std::strcmp(way, name) == 0; };
  if (is("none")) {
    once<none>();
    return 0;
  }
  const int wrong = is("stores")       ? once<stores>()
                    : is("library")    ? once<library>()
                    : is("reuse")      ? again<false>()
                    : is("reuse_each") ? again<true>()
                                       : once<async>();
  return wrong > 0 ? 1 : 0;
}
