// Partials, gather, merge, spread.
#include "cuda/group/shard_attention.hpp"

#include <algorithm>

namespace orthros::cuda {
namespace {

// Values, most and sum of so many partials, one behind the other.
SplitPartials partials_at(float* memory, int64_t partials, int64_t width, int64_t splits) {
  float* most = memory + partials * width;
  return {memory, most, most + partials, splits, {}};
}

}  // namespace

ShardAttention::ShardAttention(const AttentionShape& shape, Exchange& exchange, int32_t rank,
                               int32_t ranks, const Size& size)
    : shape_(shape),
      exchange_(exchange),
      rank_(rank),
      ranks_(ranks),
      size_(size),
      held_(size.sequences * size.held),
      counts_(size.sequences),
      places_(size.sequences * size.context),
      own_(shape.query_heads * size.rows * size.held * (shape.width + 2)),
      gathered_(ranks * slice(rank).count() * size.rows * size.held * (shape.width + 2)),
      merged_(size.rows * slice(rank).count() * shape.width),
      of_ranks_(size.rows * shape.query_heads * shape.width) {
  counts_.fill_bytes(0);
  own_.fill_bytes(0);  // places behind a sequence's splits travel too
}

int64_t ShardAttention::bytes() const {
  return held_.bytes() + counts_.bytes() + places_.bytes() + own_.bytes() + gathered_.bytes() +
         merged_.bytes() + of_ranks_.bytes();
}

void ShardAttention::place(int64_t sequence, const SplitHolders& holders, cudaStream_t stream) {
  const std::vector<int32_t> held = holders.held_splits(rank_);
  const std::vector<SplitPlace> places = split_places(holders);
  const auto count = static_cast<int32_t>(held.size());
  const auto send = [&](auto* to, const auto* from, size_t bytes) {
    ORTHROS_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
  };
  send(held_.data() + sequence * size_.held, held.data(), held.size() * sizeof(int32_t));
  send(counts_.data() + sequence, &count, sizeof count);
  send(places_.data() + sequence * size_.context, places.data(),
       places.size() * sizeof(SplitPlace));
  ORTHROS_CUDA(cudaStreamSynchronize(stream));  // the host's copies go now
}

void ShardAttention::attend(const Attention& call, int64_t base_rows, int64_t rows,
                            const OpObserver& observer) {
  const auto done = [&](const char* op) {
    if (observer) observer(op);
  };
  const int64_t windowed = call.window == 0 ? 0 : base_rows;
  const SplitWork work{windowed, rows, shape_.kv_heads, call.window};
  const int64_t outputs = rows - windowed;
  SplitPartials own =
      partials_at(own_.data(), shape_.query_heads * outputs * size_.held, shape_.width, size_.held);
  own.held = {held_.data(), counts_.data(), size_.held};
  if (split_attention_fits(shape_)) {
    launch_split_partials(call, work, own);
  } else {
    launch_plain_partials(call, work, own);
  }
  if (outputs == 0) return;
  done("output_attention");
  gather(outputs, call.stream);
  done("exchange");
  merge(call, windowed, outputs);
  done("output_attention");
  spread(call, windowed, outputs);
  done("exchange");
}

// Every rank's heads to it, values, largest scores and sums.
void ShardAttention::gather(int64_t rows, cudaStream_t stream) {
  constexpr auto size = static_cast<int64_t>(sizeof(float));
  const int64_t per_head = rows * size_.held;
  const SplitPartials own =
      partials_at(own_.data(), shape_.query_heads * per_head, shape_.width, 0);
  const int64_t mine = slice(rank_).count() * per_head;
  const SplitPartials all = partials_at(gathered_.data(), ranks_ * mine, shape_.width, 0);
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;
  for (int32_t r = 0; r < ranks_; ++r) {
    const int64_t first = slice(r).begin * per_head;
    const int64_t theirs = slice(r).count() * per_head;
    sends.push_back({r, own.values + first * shape_.width, theirs * shape_.width * size});
    sends.push_back({r, own.most + first, theirs * size});
    sends.push_back({r, own.sum + first, theirs * size});
    receives.push_back({r, all.values + r * mine * shape_.width, mine * shape_.width * size});
    receives.push_back({r, all.most + r * mine, mine * size});
    receives.push_back({r, all.sum + r * mine, mine * size});
  }
  exchange_.exchange(sends, receives, stream);
}

// The rank's slice of the heads of all output rows, into merged_.
void ShardAttention::merge(const Attention& call, int64_t base_rows, int64_t rows) {
  const int64_t heads = slice(rank_).count();
  if (heads == 0) return;
  Attention part = call;
  part.shape.query_heads = heads;
  part.rows += base_rows;
  part.out = merged_.data();
  part.row_stride = heads * shape_.width;
  const SplitPartials all =
      partials_at(gathered_.data(), ranks_ * heads * rows * size_.held, shape_.width, size_.held);
  launch_merge_splits(part, {0, rows, shape_.kv_heads, 0}, {all, places_.data(), size_.context});
}

// Merged heads to every rank, and into the output rows.
void ShardAttention::spread(const Attention& call, int64_t base_rows, int64_t rows) {
  constexpr auto size = static_cast<int64_t>(sizeof(bf16_bits));
  const auto slice_bytes = [&](int32_t r) { return slice(r).count() * shape_.width * size; };
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;
  bf16_bits* from = of_ranks_.data();
  std::vector<bf16_bits*> parts;
  for (int32_t r = 0; r < ranks_; ++r) {
    sends.push_back({r, merged_.data(), rows * slice_bytes(rank_)});
    receives.push_back({r, from, rows * slice_bytes(r)});
    parts.push_back(from);
    from += rows * slice(r).count() * shape_.width;
  }
  exchange_.exchange(sends, receives, call.stream);
  for (int32_t r = 0; r < ranks_; ++r) {
    const auto width = static_cast<size_t>(slice_bytes(r));
    if (width == 0) continue;
    bf16_bits* to = call.out + base_rows * call.row_stride + slice(r).begin * shape_.width;
    ORTHROS_CUDA(cudaMemcpy2DAsync(
        to, static_cast<size_t>(call.row_stride * size), parts[static_cast<size_t>(r)], width,
        width, static_cast<size_t>(rows), cudaMemcpyDeviceToDevice, call.stream));
  }
}

}  // namespace orthros::cuda
