// The instructions of the attention kernels: tensor core products of bf16, their operands out of
// shared memory, asynchronous copies into it and the barriers that announce them.
#pragma once

#include <cstdint>

#include "reference/hopper/portable.hpp"

namespace orthros::cuda {

// A dependent of a launch that may still run waits here for all of it. Alone it does nothing.
__device__ inline void wait_for_launches_before() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

// Lets dependents of this launch start, up to where they wait for it.
__device__ inline void start_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

__device__ inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// d += a b: one step of a dot product (dot_step.hpp) for each of 16 x 8 elements. Lane 4 g + t of
// a: rows g and g + 8, columns 2 t, 2 t + 1 (a[0], a[1]) and those + 8 (a[2], a[3]); of b: column
// g, rows 2 t, 2 t + 1 and those + 8; of d: row g (d[0], d[1]) and g + 8, columns 2 t, 2 t + 1.
__device__ inline void step_16x8(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four 8 x 8 matrices, the rows of matrix i at the addresses of lanes 8 i .. 8 i + 7. Lane 4 g + t
// gets row g, columns 2 t and 2 t + 1 of each; transposed, column g, rows 2 t and 2 t + 1.
__device__ inline void load_matrices(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
__device__ inline void load_matrices_transposed(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

// Two values rounded to bf16, the first in the lower half.
__device__ inline uint32_t round_pair(float first, float second) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

// Bytes from a tile's start to 16-byte chunk `chunk` of row `row`: columns of 64 values, `rows`
// rows of 128 bytes each, whose chunks change places by the row's last three bits, so that eight
// rows' equal chunks lie in different banks. TMA's 128-byte swizzle is this.
__device__ inline uint32_t tile_offset(int row, int chunk, int rows) {
  return static_cast<uint32_t>((chunk >> 3) * rows * 128 + row * 128 + ((chunk ^ row) & 7) * 16);
}

// 16 bytes from global to shared memory, or zeros without a read.
__device__ inline void copy_or_zero(uint32_t to, const void* from, bool copy) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
               "l"(__cvta_generic_to_global(from)), "r"(copy ? 16 : 0)
               : "memory");
}
// Of memory that is read once: L2 lets it go first.
__device__ inline uint64_t read_once() {
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
// 16 bytes from global to shared memory.
__device__ inline void copy(uint32_t to, const void* from, uint64_t policy) {
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(to),
               "l"(__cvta_generic_to_global(from)), "l"(policy)
               : "memory");
}
__device__ inline void close_copy_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// Waits for all of the thread's groups but the last `pending`.
template <int pending>
__device__ inline void wait_for_copy_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

// Barriers in shared memory. A wait is for the end of the phase of that parity.
__device__ inline void barrier_init(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ inline void barrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// Arrives once the thread's copies so far are complete.
__device__ inline void barrier_arrive_after_copies(uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}
__device__ inline void barrier_wait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n .reg .pred done;\n wait:\n"
      " mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
      " @!done bra wait;\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// Meets `threads` threads of the block at named barrier `name` (from 1).
template <int name, int threads>
__device__ inline void meet() {
  asm volatile("bar.sync %0, %1;" ::"n"(name), "n"(threads) : "memory");
}

}  // namespace orthros::cuda
