// Attention in plain code, one thread a row and head: any width, and what faster kernels must
// equal.
#include <stdexcept>

#include "cuda/kernels/attention.hpp"
#include "cuda/kernels/mma.hpp"
#include "cuda/layout/key_ranges.hpp"
#include "cuda/support/launch.hpp"
#include "reference/hopper/attention_row.hpp"

namespace orthros::cuda {
namespace {

constexpr int64_t widest = 512;
constexpr int64_t threads = 32;

// Two rows of floats a thread are in shared memory: as local memory they would take a gigabyte of
// the device.
__global__ void plain_attention(Attention call, int64_t rows) {
  extern __shared__ float memory[];  // [thread][2 width]
  wait_for_launches_before();
  const int64_t place = blockIdx.x * threads + threadIdx.x;
  const int64_t heads = call.shape.query_heads;
  if (place >= rows * heads) return;
  const int64_t r = place / heads;
  const int64_t head = place % heads;
  const Row row = call.rows[r];
  const int64_t kv_head = head / (heads / call.shape.kv_heads);
  const int64_t width = call.shape.width;
  const int64_t start =
      entry_offset(row.sequence, call.kv.sequence_stride, kv_head, call.kv.head_stride, 0, width);
  const bool windowed = row.stream == 0 && call.window != 0;
  const KeyRange range = window_range(row.position, windowed ? call.window : 0);
  const hopper::VisibleKeys seen{
      call.kv.keys + start, call.kv.values + start, width, width, range.begin, range.end};
  const bf16_bits* q = call.q + r * call.row_stride + head * width;
  bf16_bits* out = call.out + r * call.row_stride + head * width;
  float* scratch = memory + threadIdx.x * 2 * width;
  if (windowed) {
    hopper::attend_base(q, seen, call.shape.scale, scratch, out);
  } else {
    hopper::attend_output(q, seen, call.shape.scale, scratch, out);
  }
}

}  // namespace

void launch_plain_attention(const Attention& call, int64_t rows) {
  if (call.shape.width > widest) throw std::invalid_argument("head width above 512");
  const int64_t places = rows * call.shape.query_heads;
  if (places == 0) return;
  const auto blocks = static_cast<unsigned>((places + threads - 1) / threads);
  const auto shared = static_cast<int>(threads * 2 * call.shape.width) * sizeof(float);
  ORTHROS_CUDA(cudaFuncSetAttribute(plain_attention, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(shared)));
  launch(plain_attention, {dim3(blocks), dim3(threads), shared}, call.stream, call, rows);
}

}  // namespace orthros::cuda
