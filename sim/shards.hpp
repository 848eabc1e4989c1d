// How the tokens of a sequence are shared out over the ranks of a sequence-parallel deployment.
#pragma once

#include <cstdint>

#include "sim/ops.hpp"

namespace orthros {

// Shards begin at multiples of the output attention's split.
constexpr int64_t split_keys = 512;

// Tokens [from, from + tokens) of a prompt: what one rank runs, its left context first.
struct ShardRun {
  int64_t from = 0;
  int64_t tokens = 0;
};

// The longest run of any rank, the last such, where every shard runs `reach` tokens before its own
// again and the first gets so many more that all run equally many, in whole splits: as
// cuda/layout/shard_plan.hpp plans balanced shards. Tokens, ranks from 1.
ShardRun longest_run(int64_t tokens, int64_t ranks, int64_t reach);

// Whether the deployment has shards of this model that run their left context again.
bool runs_left_context(const CountModel& model, const Deployment& deployment);

// Whether ranks run prompts through these layers in rounds of chunks, every layer's keys brought
// together on all of them in each, while each keeps the splits that it is dealt.
bool runs_in_rounds(const LayerGroup& group, const Deployment& deployment);

// Times the ranks: positions of n that the fullest rank holds, and of its run in tokens with them,
//   n + (ranks - 1) min(n, reach)   where left context is run again, else n.
// Linear in sums of n and of min(n, reach), so sequences may be summed first.
int128 shard_share(const CountModel& model, const Deployment& deployment, int128 n,
                   int128 within_reach);

}  // namespace orthros
