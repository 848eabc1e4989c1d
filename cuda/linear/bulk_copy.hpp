// Copies into shared memory, the barriers they complete on, and dependent launches.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace orthros::cuda {

// Barriers and destinations are addresses in the shared window.
__device__ inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ inline void barrier_init(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// Makes initialised barriers visible to the copy engine.
__device__ inline void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void barrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// Arrives, and holds the phase until `bytes` have been copied.
__device__ inline void barrier_expect(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
// Waits for the end of the phase with this parity.
__device__ inline void barrier_wait(uint32_t barrier, uint32_t parity) {
  uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{\n\t.reg .pred done;\n\t"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n\t"
        "selp.b32 %0, 1, 0, done;\n\t}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  }
}

__device__ inline void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
// The box at (column, row) of a matrix. What lies outside the matrix arrives as zeros and counts
// among the bytes.
__device__ inline void copy_box(uint32_t to, const CUtensorMap* map, int32_t column, int32_t row,
                                uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
      "{%2, %3}], [%4];" ::"r"(to),
      "l"(map), "r"(column), "r"(row), "r"(barrier)
      : "memory");
}

// Of a matrix that is read once: L2 lets it go first.
__device__ inline void copy_box_once(uint32_t to, const CUtensorMap* map, int32_t column,
                                     int32_t row, uint32_t barrier) {
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(map), "r"(column), "r"(row), "r"(barrier), "l"(policy)
      : "memory");
}

// Waits until the kernels before this one have ended and their writes are visible. Does nothing in
// a launch without the attribute.
__device__ inline void wait_for_previous() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
// Lets the next kernel's blocks start once every block of this one has called it or ended.
__device__ inline void start_next() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

}  // namespace orthros::cuda
