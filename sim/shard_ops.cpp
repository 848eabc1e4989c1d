// Two exchanges and a fold.
#include "sim/shard_ops.hpp"

#include <fmt/format.h>

namespace orthros {
namespace {

Op transfer(std::string_view name, const LayerGroup& group) {
  Op op;
  op.name = name;
  op.kind = OpKind::communication;
  op.count = group.layers;
  op.sequences = 1;
  op.between_shards = true;
  return op;
}

}  // namespace

void append_partial_merge(const CountModel& model, const Deployment& to, const LayerGroup& group,
                          int64_t outputs, const OutputKeys& seen, std::vector<Op>& ops) {
  const auto of_rank = [&](int64_t size) {
    return (size + to.tensor_parallel - 1) / to.tensor_parallel;
  };
  const int128 parts = to.sequence_parallel;
  const int128 width = of_rank(group.query_width);
  constexpr int64_t fp32 = 4;
  const int128 partial = fp32 * (width + 2 * of_rank(group.query_heads));  // a split's, all heads
  const int128 merged = int128{outputs} * width * to.activation_bytes;

  Op gather = transfer("exchange_partials", group);
  const int128 sent = partial * (parts - 1);
  const int128 pieces = parts * parts * split_keys;
  gather.bytes_written = narrow(sent * seen.held(model, to) / pieces);
  gather.bytes_growth = narrow(sent * seen.held_growth(model, to) / pieces);
  ops.push_back(gather);

  Op fold;
  fold.name = "merge_partials";
  fold.kind = OpKind::elementwise;
  fold.count = group.layers;
  fold.bytes_read = narrow(partial * seen.keys / (parts * split_keys));
  fold.bytes_written = narrow(merged / parts);
  fold.bytes_growth = narrow(partial * seen.growth / (parts * split_keys));
  ops.push_back(fold);

  Op spread = transfer("exchange_heads", group);
  spread.bytes_written = narrow(merged * (parts - 1) / parts);
  ops.push_back(spread);
}

void require_decode_over_shards(const CountModel& model, const Deployment& to) {
  if (to.sequence_parallel == 1 || model.reach) return;
  throw InputError(
      "--sequence-parallel", "",
      fmt::format("expected a prefill alone (--output 1) over {} shards: a decode "
                  "step over shards is costed for two streams over windowed softmax "
                  "layers (orthros), not for {}",
                  to.sequence_parallel, model.dual ? "layers without a window" : "one stream"));
}

}  // namespace orthros
