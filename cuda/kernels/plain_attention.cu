// Attention in plain code, a block a row and head: any width, and what faster kernels must equal.
#include <stdexcept>
#include <type_traits>

#include "cuda/kernels/attention.hpp"
#include "cuda/kernels/mma.hpp"
#include "cuda/layout/key_ranges.hpp"
#include "cuda/layout/team_attention.hpp"
#include "cuda/support/launch.hpp"

namespace orthros::cuda {
namespace {

constexpr int64_t widest = 512;
constexpr int threads = 128;

struct Block {
  __device__ static int64_t size() { return threads; }
  template <class Phase>
  __device__ static void each(const Phase& phase) {
    phase(threadIdx.x);
    __syncthreads();
  }
};

// A KV head's keys, of the call's kind of entries.
template <class Keys>
__device__ Keys keys_of(const Attention& call, int64_t kv_head, int64_t start, KeyRange range) {
  const int64_t width = call.shape.width;
  if constexpr (std::is_same_v<Keys, E4m3Keys>) {
    return {call.kv.keys8 + start,
            call.kv.values8 + start,
            width,
            width,
            range.begin,
            range.end,
            call.kv.exponents[kv_head],
            call.kv.exponents[call.shape.kv_heads + kv_head]};
  } else {
    return {call.kv.keys + start, call.kv.values + start, width, width, range.begin, range.end};
  }
}

template <class Keys>
__global__ void __launch_bounds__(threads) plain_attention(Attention call) {
  __shared__ float most[threads];
  __shared__ float exact[team_keys];
  __shared__ uint16_t weights[team_keys];
  __shared__ float chains[hopper::sum_chains];
  __shared__ float part[widest];
  __shared__ float total[widest];
  wait_for_launches_before();
  const int64_t heads = call.shape.query_heads;
  const int64_t r = blockIdx.x / heads;
  const int64_t head = blockIdx.x % heads;
  const Row row = call.rows[r];
  const int64_t kv_head = head / (heads / call.shape.kv_heads);
  const int64_t width = call.shape.width;
  const int64_t start =
      entry_offset(row.sequence, call.kv.sequence_stride, kv_head, call.kv.head_stride, 0, width);
  const bool windowed = row.stream == 0 && call.window != 0;
  const KeyRange range = window_range(row.position, windowed ? call.window : 0);
  const TeamAttention<Block, Keys> attention{{},
                                             {most, exact, weights, chains, part, total},
                                             call.q + r * call.row_stride + head * width,
                                             keys_of<Keys>(call, kv_head, start, range),
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
  if (call.shape.width > widest) throw std::invalid_argument("head width above 512");
  const int64_t places = rows * call.shape.query_heads;
  if (places == 0) return;
  const auto kernel =
      call.kv.keys8 != nullptr ? plain_attention<E4m3Keys> : plain_attention<hopper::VisibleKeys>;
  launch(kernel, {dim3(static_cast<unsigned>(places)), dim3(threads)}, call.stream, call);
}

}  // namespace orthros::cuda
