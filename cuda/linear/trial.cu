// Random operands and a count of differing results, for comparing ways to run a product.
#include "cuda/linear/trial.hpp"

#include <cuda_runtime.h>

#include "cuda/support/cuda_error.hpp"
#include "reference/hopper/rounding.hpp"

namespace orthros::cuda {
namespace {

constexpr int trial_blocks = 1056;
constexpr int trial_threads = 256;

__device__ uint64_t random_bits(uint64_t seed, uint64_t index) {
  uint64_t z = seed * 0xd1342543de82ef95ull + index * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// A sum of three uniform values in [-1, 1].
__device__ float about_normal(uint64_t bits) {
  float sum = -3.0f;
  for (int i = 0; i < 3; ++i) sum += static_cast<float>((bits >> (20 * i)) & 0xfffff) * 0x1p-19f;
  return sum;
}

__global__ void trial_fill_kernel(bf16_bits* to, int64_t rows, int64_t columns, int64_t stride,
                                  float scale, uint64_t seed) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < rows * stride;
       i += int64_t{gridDim.x} * blockDim.x) {
    const int64_t row = i / stride;
    const auto power = static_cast<int>(random_bits(seed + 1, row) % 9) - 4;
    to[i] = i % stride < columns
                ? hopper::round_bf16(ldexpf(scale * about_normal(random_bits(seed, i)), power))
                : bf16_bits{0};
  }
}

__global__ void count_differing_kernel(const bf16_bits* a, const bf16_bits* b, int64_t count,
                                       unsigned long long* differing) {
  unsigned long long here = 0;
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * blockDim.x) {
    here += a[i] != b[i];
  }
  if (here != 0) atomicAdd(differing, here);
}

}  // namespace

void launch_trial_fill(bf16_bits* to, int64_t rows, int64_t columns, int64_t stride, float scale,
                       uint64_t seed, cudaStream_t stream) {
  trial_fill_kernel<<<trial_blocks, trial_threads, 0, stream>>>(to, rows, columns, stride, scale,
                                                                seed);
  ORTHROS_CUDA_LAUNCHED("trial_fill");
}

void launch_count_differing(const bf16_bits* a, const bf16_bits* b, int64_t count,
                            unsigned long long* differing, cudaStream_t stream) {
  count_differing_kernel<<<trial_blocks, trial_threads, 0, stream>>>(a, b, count, differing);
  ORTHROS_CUDA_LAUNCHED("count_differing");
}

}  // namespace orthros::cuda
