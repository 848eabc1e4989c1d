// Random operands and a count of differing results, for comparing ways to run a product.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/layout/rows.hpp"

namespace orthros::cuda {

// rows x columns about normal times `scale`, times a power of two between 2^-4 and 2^4 for each
// row; rows stride apart, zeros from `columns` on.
void launch_trial_fill(bf16_bits* to, int64_t rows, int64_t columns, int64_t stride, float scale,
                       uint64_t seed, cudaStream_t stream);

// *differing += how many of `count` bit patterns differ.
void launch_count_differing(const bf16_bits* a, const bf16_bits* b, int64_t count,
                            unsigned long long* differing, cudaStream_t stream);

}  // namespace orthros::cuda
