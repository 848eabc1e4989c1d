// Tensor maps of bf16 tensors, for bulk tensor copies with rows of 64 elements swizzled.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <span>

#include "cuda/layout/rows.hpp"

namespace orthros::cuda {

// A dimension beyond the innermost: elements to its next index, indices it has, and how many of
// them a box covers.
struct MapDimension {
  int64_t stride;
  int64_t extent;
  int32_t box;
};

// The map of the tensor at `base` with `width` contiguous elements innermost, of which a box covers
// 64, and one to four more dimensions in the order in which a box lies in shared memory, inner
// first; their strides in any order. A box's rows of 128 bytes arrive swizzled
// (SWIZZLE_128B). base: 16-byte aligned; strides: multiples of 8. An extent may be larger than the
// memory behind it as long as no copy goes there.
CUtensorMap bf16_map(const bf16_bits* base, int64_t width, std::span<const MapDimension> outer);

}  // namespace orthros::cuda
