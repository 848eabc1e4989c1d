// SwiGLU of gate and up as the projection left them, interleaved by 8.
#include "cuda/kernels/eight.hpp"
#include "cuda/kernels/elementwise.hpp"
#include "cuda/support/launch.hpp"
#include "reference/hopper/pointwise.hpp"
#include "reference/hopper/rounding.hpp"

namespace orthros::cuda {
namespace {

// A thread takes 8 outputs: 16 bytes of gate, 16 of up, 16 out.
__global__ void swiglu_kernel(const bf16_bits* gate_up, int64_t rows, int64_t stride,
                              int64_t groups, bf16_bits* y, int64_t y_stride) {
  begin_after_previous();
  const int64_t item = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (item >= rows * groups) return;
  const int64_t row = item / groups;
  const int64_t group = item % groups;
  const bf16_bits* from = gate_up + row * stride + group * 16;
  const Eight gate = Eight::load(from);
  const Eight up = Eight::load(from + 8);
  Eight result;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    result.values[i] = hopper::round_bf16(
        hopper::gated(hopper::widen_bf16(gate.values[i]), hopper::widen_bf16(up.values[i])));
  }
  result.store(y + row * y_stride + group * 8);
}

}  // namespace

void launch_swiglu(const bf16_bits* gate_up, int64_t rows, int64_t stride, int64_t width,
                   bf16_bits* y, int64_t y_stride, cudaStream_t stream) {
  const int64_t groups = (width + 7) / 8;
  if (rows * groups == 0) return;
  launch(swiglu_kernel, {dim3(blocks_for(rows * groups, 256)), dim3(256)}, stream, gate_up, rows,
         stride, groups, y, y_stride);
}

}  // namespace orthros::cuda
