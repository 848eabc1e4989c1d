// Plans shards.
#include "sim/shards.hpp"

#include <algorithm>

namespace orthros {
namespace {

int64_t splits_of(int64_t tokens) {
  return (tokens + split_keys - 1) / split_keys;
}

}  // namespace

ShardRun longest_run(int64_t tokens, int64_t ranks, int64_t reach) {
  const int64_t splits = splits_of(tokens);
  const int64_t run = (tokens + (ranks - 1) * reach) / ranks;
  ShardRun longest;
  int64_t begin = 0;
  for (int64_t r = 0; r < ranks && begin < tokens; ++r) {
    const int64_t cut = std::min(splits, splits_of(std::max(run + r * (run - reach), run)));
    const int64_t end = r + 1 == ranks ? tokens : std::min(cut * split_keys, tokens);
    if (begin < end) {
      const int64_t from = std::max<int64_t>(0, begin - reach) / split_keys * split_keys;
      if (end - from >= longest.tokens) longest = {from, end - from};
    }
    begin = end;
  }
  return longest;
}

bool runs_left_context(const CountModel& model, const Deployment& deployment) {
  return deployment.sequence_parallel > 1 && deployment.left_context == LeftContext::recompute &&
         model.reach.has_value();
}

bool runs_in_rounds(const LayerGroup& group, const Deployment& deployment) {
  return deployment.sequence_parallel > 1 && deployment.left_context == LeftContext::recompute &&
         group.kind == LayerGroup::Kind::softmax && group.window == no_window;
}

int128 shard_share(const CountModel& model, const Deployment& deployment, int128 n,
                   int128 within_reach) {
  if (!runs_left_context(model, deployment)) return n;
  return n + (deployment.sequence_parallel - 1) * within_reach;
}

}  // namespace orthros
