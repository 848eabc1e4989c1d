// Two exchanges and a fold.
#include "sim/shard_ops.hpp"

#include <fmt/format.h>

#include <algorithm>

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
  const auto ceil_div = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  const int128 parts = to.sequence_parallel;
  const int64_t heads = ceil_div(group.query_heads, to.tensor_parallel);
  const int64_t slice = ceil_div(heads, to.sequence_parallel);  // the largest
  const int64_t width = group.query_width / group.query_heads;
  constexpr int64_t fp32 = 4;
  const int128 partial = int128{slice} * (width + 2) * fp32;  // a split's, of the slice
  const int128 merged = int128{outputs} * slice * width * to.activation_bytes;

  Op gather = transfer("exchange_partials", group);
  const int128 received = partial * (parts - 1);
  gather.bytes_written = narrow(received * seen.held(model, to) / (parts * split_keys));
  gather.bytes_growth = narrow(received * seen.held_growth(model, to) / (parts * split_keys));
  ops.push_back(gather);

  Op fold;
  fold.name = "merge_partials";
  fold.kind = OpKind::elementwise;
  fold.count = group.layers;
  fold.bytes_read = narrow(partial * seen.keys / split_keys);
  fold.bytes_written = narrow(merged);
  fold.bytes_growth = narrow(partial * seen.growth / split_keys);
  ops.push_back(fold);

  Op spread = transfer("exchange_heads", group);
  spread.bytes_written = narrow(merged * (parts - 1));
  ops.push_back(spread);
}

void require_decode_over_shards(const CountModel& model, const Deployment& to) {
  if (to.sequence_parallel == 1 || model.reach) return;
  const bool rounds =
      std::all_of(model.groups.begin(), model.groups.end(),
                  [&](const LayerGroup& group) { return runs_in_rounds(group, to); });
  if (!model.dual && rounds) return;
  throw InputError(
      "--sequence-parallel", "",
      fmt::format("expected a prefill alone (--output 1) over {} shards: a decode "
                  "step over shards is costed for two streams over windowed softmax "
                  "layers (orthros) and, as the engine has it, for one over full attention "
                  "(transformer), not for this",
                  to.sequence_parallel));
}

}  // namespace orthros
