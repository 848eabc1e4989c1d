// place_heads for many rows: prompts.
#pragma once

#include "cuda/kernels/elementwise.hpp"

namespace orthros::cuda {

// Whether launch_place_rows has this: heads 64, 128 or 256 wide, rotated whole or not at all, and a
// cache of bf16 whose splits are all here.
bool place_rows_fits(const HeadPlacement& placement);
// What launch_place_heads does, at the rate of its bytes where there are many rows.
void launch_place_rows(const HeadPlacement& placement, cudaStream_t stream);

}  // namespace orthros::cuda
