// How the warps of a block learn which item is next.
#pragma once

#include "cuda/kernels/mma.hpp"

namespace orthros::cuda {

// A block's items: its first by its number, each further one claimed as the block gets to it, so
// that all blocks end together. One thread claims; all warps learn of it through a queue in shared
// memory, which is longer than the carriers can be ahead of the workers.
struct ItemQueue {
  static constexpr int places = 8;
  static constexpr int bytes = places * (8 + 4);  // a barrier and an item each
  uint32_t address;

  __device__ uint32_t barrier(int turn) const { return address + turn % places * 8; }
  __device__ uint32_t place(int turn) const { return address + places * 8 + turn % places * 4; }

  // By one thread, before the block meets.
  __device__ void open() const {
    for (int turn = 0; turn < places; ++turn) barrier_init(barrier(turn), 1);
  }
  __device__ void put(int turn, int item) const {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(place(turn)), "r"(item) : "memory");
    barrier_arrive(barrier(turn));
  }
  __device__ int get(int turn) const {
    barrier_wait(barrier(turn), turn / places % 2);
    int item;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(item) : "r"(place(turn)) : "memory");
    return item;
  }
};

}  // namespace orthros::cuda
