// SwiGLU of gate and up as the projection left them, interleaved by 8.
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
  const uint4* from = reinterpret_cast<const uint4*>(gate_up + row * stride + group * 16);
  union Eight {
    uint4 vector;
    bf16_bits values[8];
  } gate, up, result;
  gate.vector = from[0];
  up.vector = from[1];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    result.values[i] = hopper::round_bf16(
        hopper::gated(hopper::widen_bf16(gate.values[i]), hopper::widen_bf16(up.values[i])));
  }
  *reinterpret_cast<uint4*>(y + row * y_stride + group * 8) = result.vector;
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
