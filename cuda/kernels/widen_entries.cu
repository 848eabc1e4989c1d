// e4m3 entries to bf16, a thread eight of a key or value.
#include "cuda/kernels/eight.hpp"
#include "cuda/kernels/kv_entries.hpp"
#include "cuda/support/launch.hpp"
#include "reference/hopper/e4m3.hpp"

namespace orthros::cuda {
namespace {

constexpr int threads = 256;

union EightEntries {
  uint2 vector;
  uint8_t values[8];
};

// Blocks: eights of a head's range, KV heads, {keys, values}.
__global__ void __launch_bounds__(threads)
    widen_entries(KvView from, AttentionShape shape, int64_t sequence, KeyRange range, KvView to) {
  begin_after_previous();
  const int64_t at = (blockIdx.x * int64_t{threads} + threadIdx.x) * 8;
  if (at >= (range.end - range.begin) * shape.width) return;
  const int64_t head = blockIdx.y;
  const bool values = blockIdx.z == 1;
  const int exponent = from.exponents[values ? shape.kv_heads + head : head];
  const uint8_t* entries = values ? from.values8 : from.keys8;
  EightEntries eight;
  eight.vector =
      *reinterpret_cast<const uint2*>(entries + at +
                                      entry_offset(sequence, from.sequence_stride, head,
                                                   from.head_stride, range.begin, shape.width));
  Eight wide;
#pragma unroll
  for (int i = 0; i < 8; ++i) wide.values[i] = hopper::widen_e4m3(eight.values[i], exponent);
  wide.store((values ? to.values : to.keys) + head * to.head_stride + at);
}

}  // namespace

void launch_widen_entries(const KvView& from, const AttentionShape& shape, int64_t sequence,
                          KeyRange range, const KvView& to, cudaStream_t stream) {
  const int64_t eights = (range.end - range.begin) * shape.width / 8;
  if (eights == 0) return;
  const dim3 blocks(blocks_for(eights, threads), static_cast<unsigned>(shape.kv_heads), 2);
  launch(widen_entries, {blocks, dim3(threads)}, stream, from, shape, sequence, range, to);
}

}  // namespace orthros::cuda
