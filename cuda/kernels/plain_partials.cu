// Splits' partial softmaxes in plain code, a block a row, head and split: any width.
#include <stdexcept>

#include "cuda/kernels/plain_team.hpp"
#include "cuda/kernels/split_partials.hpp"
#include "cuda/support/launch.hpp"

namespace orthros::cuda {
namespace {

// Grid: row and query head; splits that are here.
template <class Keys>
__global__ void __launch_bounds__(plain_threads)
    plain_partials(Attention call, SplitWork work, SplitPartials partials) {
  __shared__ PlainMemory memory;
  wait_for_launches_before();
  const int64_t heads = call.shape.query_heads;
  const int64_t split_row = blockIdx.x / heads;
  const int64_t r = work.windowed_rows + split_row;
  const int64_t head = blockIdx.x % heads;
  const Row row = call.rows[r];
  const KeyRange range =
      split_range(partials.held.split(row.sequence, blockIdx.y), row.position + 1);
  if (range.begin >= range.end) return;
  const int64_t width = call.shape.width;
  const int64_t kv_head = head / (heads / call.shape.kv_heads);
  const TeamAttention<PlainBlock, Keys> attention{{},
                                                  memory.team(),
                                                  call.q + r * call.row_stride + head * width,
                                                  plain_keys<Keys>(call, row, kv_head, range),
                                                  call.shape.scale};
  const hopper::PartialSoftmax result = attention.range(range.begin, range.end);
  const int64_t place =
      partial_offset(split_row, work.rows - work.windowed_rows, head, partials.splits, blockIdx.y);
  for (int64_t c = threadIdx.x; c < width; c += plain_threads) {
    partials.values[place * width + c] = memory.part[c];
  }
  if (threadIdx.x > 0) return;
  partials.most[place] = result.most_scaled;
  partials.sum[place] = result.sum;
}

}  // namespace

void launch_plain_partials(const Attention& call, const SplitWork& work,
                           const SplitPartials& partials) {
  if (call.shape.width > plain_widest) throw std::invalid_argument("head width above 512");
  launch_plain_attention(call, work.windowed_rows);
  const int64_t places = (work.rows - work.windowed_rows) * call.shape.query_heads;
  if (places == 0) return;
  const auto kernel =
      call.kv.keys8 != nullptr ? plain_partials<E4m3Keys> : plain_partials<hopper::VisibleKeys>;
  const dim3 grid(static_cast<unsigned>(places), static_cast<unsigned>(partials.splits));
  launch(kernel, {grid, dim3(plain_threads)}, call.stream, call, work, partials);
}

}  // namespace orthros::cuda
