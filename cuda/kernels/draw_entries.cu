// Random e4m3 entries, about normal.
#include "cuda/kernels/kv_entries.hpp"
#include "cuda/support/launch.hpp"
#include "reference/hopper/e4m3.hpp"

namespace orthros::cuda {
namespace {

__global__ void draw_entries(CounterRandom random, int64_t count, uint8_t* entries) {
  begin_after_previous();
  const int64_t step = gridDim.x * int64_t{blockDim.x};
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count; i += step) {
    entries[i] = hopper::round_e4m3(static_cast<float>(random.normal(static_cast<uint64_t>(i))));
  }
}

}  // namespace

void launch_draw_entries(const CounterRandom& random, int64_t count, uint8_t* entries,
                         cudaStream_t stream) {
  launch(draw_entries, {dim3(2048), dim3(256)}, stream, random, count, entries);
}

}  // namespace orthros::cuda
