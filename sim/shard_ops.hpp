// What output rows, and a decode step's of one stream, cost over keys that the ranks of a sequence
// share out.
#pragma once

#include <vector>

#include "sim/op_size.hpp"
#include "sim/shards.hpp"

namespace orthros {

// The keys that the output rows of a step see, all sequences and ranks together.
struct OutputKeys {
  int128 keys = 0;          // sum of n
  int128 within_reach = 0;  // sum of min(n, reach)
  int128 growth = 0;        // of both, by the next decode step
  int128 reach_growth = 0;

  // Times the ranks, what the fullest rank holds of them.
  int128 held(const CountModel& model, const Deployment& to) const {
    return shard_share(model, to, keys, within_reach);
  }
  int128 held_growth(const CountModel& model, const Deployment& to) const {
    return shard_share(model, to, growth, reach_growth);
  }
};

// How ranks put the partial softmaxes of `outputs` rows together (cuda/group/shard_attention.hpp):
// each hands every other those of its splits and of the other's slice of the heads (d values, the
// largest score and the sum in fp32: exchange_partials), folds all splits of its own slice
// (merge_partials) and hands that round (exchange_heads). The engine times both transfers as
// "exchange", the fold as "output_attention". A transfer to all others has one latency.
// Bytes are what comes into the rank with the largest slice and goes out of it, s = ceil(Hq / P)
// heads of P ranks: s (P - 1) x held / 512 x (d + 2) x 4, and outputs x s d (P - 1) merged.
void append_partial_merge(const CountModel& model, const Deployment& deployment,
                          const LayerGroup& group, int64_t outputs, const OutputKeys& seen,
                          std::vector<Op>& ops);

// Throws InputError where a decode step of this model over these shards is not costed: the output
// copies of a two-stream model with a reach are, and one stream's rows over full attention whose
// splits the ranks are dealt.
void require_decode_over_shards(const CountModel& model, const Deployment& deployment);

}  // namespace orthros
