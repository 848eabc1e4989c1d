// Attention in plain code, a block a row and head: any width, and what faster kernels must equal.
#include <stdexcept>

#include "cuda/kernels/plain_team.hpp"
#include "cuda/support/launch.hpp"

namespace orthros::cuda {
namespace {

template <class Keys>
__global__ void __launch_bounds__(plain_threads) plain_attention(Attention call) {
  __shared__ PlainMemory memory;
  wait_for_launches_before();
  const int64_t heads = call.shape.query_heads;
  const int64_t r = blockIdx.x / heads;
  const int64_t head = blockIdx.x % heads;
  const Row row = call.rows[r];
  const int64_t kv_head = head / (heads / call.shape.kv_heads);
  const int64_t width = call.shape.width;
  const bool windowed = row.stream == 0 && call.window != 0;
  const KeyRange range = window_range(row.position, windowed ? call.window : 0);
  const TeamAttention<PlainBlock, Keys> attention{{},
                                                  memory.team(),
                                                  call.q + r * call.row_stride + head * width,
                                                  plain_keys<Keys>(call, row, kv_head, range),
                                                  call.shape.scale};
  bf16_bits* out = call.out + r * call.row_stride + head * width;
  if (windowed) {
    attention.base(out);
  } else {
    attention.output(out);
  }
}

}  // namespace

void launch_plain_attention(const Attention& call, int64_t rows) {
  if (call.shape.width > plain_widest) throw std::invalid_argument("head width above 512");
  const int64_t places = rows * call.shape.query_heads;
  if (places == 0) return;
  const auto kernel =
      call.kv.keys8 != nullptr ? plain_attention<E4m3Keys> : plain_attention<hopper::VisibleKeys>;
  launch(kernel, {dim3(static_cast<unsigned>(places)), dim3(plain_threads)}, call.stream, call);
}

}  // namespace orthros::cuda
