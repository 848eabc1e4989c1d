// Warpgroup matrix products of bf16 with fp32 accumulation, 64 rows each, and their descriptors.
#pragma once

#include <cstdint>

namespace orthros::cuda {

// A tile in shared memory whose rows of 64 bf16 (128 bytes) are swizzled as TMA's SWIZZLE_128B
// does: 8 rows are an atom of 1024 bytes, atoms lie at multiples of 1024. `group_stride`: bytes
// from one atom to the next along the rows; `column_stride`: to the next 64 columns, for operands
// read by columns (their rows are the summed dimension).
struct Descriptor {
  uint32_t low;
  uint32_t high;
};
__device__ __forceinline__ Descriptor swizzled_descriptor(uint32_t address, uint32_t group_stride,
                                                          uint32_t column_stride) {
  return {(address & 0x3ffff) >> 4 | column_stride >> 4 << 16, group_stride >> 4 | 1u << 30};
}
// The descriptor `bytes` further on.
__device__ __forceinline__ Descriptor advanced(Descriptor descriptor, uint32_t bytes) {
  return {descriptor.low + (bytes >> 4), descriptor.high};
}

// Registers and shared memory written before are ready for the products that follow.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// All but the `pending` newest groups are complete.
template <int pending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}
// Keeps the compiler from moving accesses of these registers across.
template <int count>
__device__ __forceinline__ void pin(float (&values)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(values[i])::"memory");
}

// Sets the registers of this warpgroup's threads, a multiple of 8.
template <int count>
__device__ __forceinline__ void fewer_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
__device__ __forceinline__ void more_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

#define ORTHROS_D8(d, i)                                                                          \
  "+f"((d)[(i)]), "+f"((d)[(i) + 1]), "+f"((d)[(i) + 2]), "+f"((d)[(i) + 3]), "+f"((d)[(i) + 4]), \
      "+f"((d)[(i) + 5]), "+f"((d)[(i) + 6]), "+f"((d)[(i) + 7])
#define ORTHROS_D16(d, i) ORTHROS_D8(d, i), ORTHROS_D8(d, (i) + 8)
#define ORTHROS_D32(d, i) ORTHROS_D16(d, i), ORTHROS_D16(d, (i) + 16)
#define ORTHROS_R1 "%0, %1, %2, %3, %4, %5, %6, %7"
#define ORTHROS_R2 ORTHROS_R1 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define ORTHROS_R3 ORTHROS_R2 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define ORTHROS_R4 ORTHROS_R3 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define ORTHROS_R5 ORTHROS_R4 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define ORTHROS_R6 ORTHROS_R5 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define ORTHROS_R7 ORTHROS_R6 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define ORTHROS_R8 ORTHROS_R7 ", %56, %57, %58, %59, %60, %61, %62, %63"

// d (64 x 48) = a b^T, or d + a b^T where `accumulate`; a: 64 x 16 in registers as mma.sync
// m16n8k16 has it, b: 48 x 16 by rows in shared memory. d: 24 registers, m16n8 tiles side by side.
__device__ __forceinline__ void wgmma_rows_48(float* d, const uint32_t (&a)[4], Descriptor b,
                                              int accumulate) {
  asm volatile(
      "{\n.reg .pred p;\n.reg .b64 b;\nsetp.ne.b32 p, %30, 0;\nmov.b64 b, {%28, %29};\n"
      "wgmma.mma_async.sync.aligned.m64n48k16.f32.bf16.bf16 {" ORTHROS_R3
      "}, {%24, %25, %26, %27}, b, p, 1, 1, 0;\n}\n"
      : ORTHROS_D16(d, 0), ORTHROS_D8(d, 16)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.low), "r"(b.high), "r"(accumulate));
}

// d (64 x 128) = a b, or d + a b; a: 64 x 16 in registers as mma.sync m16n8k16 has it, b: 16 x 128
// by rows in shared memory.
__device__ __forceinline__ void wgmma_columns_128(float (&d)[64], const uint32_t (&a)[4],
                                                  Descriptor b, int accumulate) {
  asm volatile(
      "{\n.reg .pred p;\n.reg .b64 b;\nsetp.ne.b32 p, %70, 0;\nmov.b64 b, {%68, %69};\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" ORTHROS_R8
      "}, {%64, %65, %66, %67}, b, p, 1, 1, 1;\n}\n"
      : ORTHROS_D32(d, 0), ORTHROS_D32(d, 32)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.low), "r"(b.high), "r"(accumulate));
}

#undef ORTHROS_D8
#undef ORTHROS_D16
#undef ORTHROS_D32
#undef ORTHROS_R1
#undef ORTHROS_R2
#undef ORTHROS_R3
#undef ORTHROS_R4
#undef ORTHROS_R5
#undef ORTHROS_R6
#undef ORTHROS_R7
#undef ORTHROS_R8

}  // namespace orthros::cuda
