// ShardedEngine's prompts as shards.
#include <fmt/format.h>

#include <algorithm>

#include "cuda/engine/kv_store.hpp"
#include "cuda/group/sharded_rank.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {
namespace {

constexpr int64_t split_keys = hopper::split_keys;

// Keys before a shard's first token that its first rows see, whole blocks of them.
int64_t lead_of(int64_t window) {
  return split_count(window + hopper::block_keys) * split_keys;
}

}  // namespace

void ShardedEngine::require_room(int64_t sequence) const {
  const int64_t most = split_count(rank_limits_.held);
  for (int32_t r = 0; r < group_.ranks(); ++r) {
    if (holders(sequence).held(r) <= most) continue;
    throw InputError("tokens", "",
                     fmt::format("expected at most {} tokens of a sequence on a GPU, got {} on "
                                 "rank {}: tokens appended to a sequence go to one GPU; prefill "
                                 "them with the prompt",
                                 most * split_keys, holders(sequence).held(r) * split_keys, r));
  }
}

std::vector<std::vector<RankShard>> ShardedEngine::plan_shards(std::span<const Prompt> prompts) {
  const std::vector<SplitHolders> before = holders_;
  std::vector<std::vector<RankShard>> shards;
  try {
    for (const Prompt& prompt : prompts) {
      const int64_t past = length(prompt.sequence);
      const int64_t end = past + static_cast<int64_t>(prompt.tokens.size());
      if (past == 0) {
        shards.push_back(plan_ranks(end, group_.ranks(), reach_, group_.options().balanced));
        hold_shards(prompt.sequence, shards.back());
      } else {
        auto& plan = shards.emplace_back(static_cast<size_t>(group_.ranks()));
        extend(prompt.sequence, end);
        plan[static_cast<size_t>(holders(prompt.sequence).last())] = {past, past, end};
      }
      require_room(prompt.sequence);
    }
  } catch (...) {
    holders_ = before;
    throw;
  }
  return shards;
}

void ShardedEngine::hold_shards(int64_t sequence, std::span<const RankShard> shards) {
  SplitHolders& known = holders(sequence);
  known = SplitHolders(group_.ranks());
  for (int32_t r = 0; r < group_.ranks(); ++r) {
    const RankShard& shard = shards[static_cast<size_t>(r)];
    while (!shard.empty() && known.splits() < split_count(shard.end)) known.add(r);
  }
}

// A rank's shards of the prompts; of one stream with what they predict. Then it knows all of their
// tokens, and with two streams predicts.
void ShardedEngine::run_shards(int32_t r, std::span<const Prompt> prompts,
                               const std::vector<std::vector<RankShard>>& shards, Want want,
                               int64_t chunk, std::span<Prediction> predictions) {
  Engine& engine = rank(r).engine;
  const bool copies = spreading_ == Spreading::shards_and_outputs;
  std::vector<Prompt> here;
  std::vector<Prompt> outputs;
  std::vector<size_t> asked;  // which predictions are made here
  std::vector<std::vector<int64_t>> whole;
  size_t first = 0;
  for (size_t p = 0; p < prompts.size(); ++p) {
    const Prompt& prompt = prompts[p];
    const RankShard& shard = shards[p][static_cast<size_t>(r)];
    std::vector<int64_t> tokens = engine.tokens(prompt.sequence);
    tokens.insert(tokens.end(), prompt.tokens.begin(), prompt.tokens.end());
    if (!shard.empty()) {
      KvStore& cache = engine.cache();
      const int64_t lead = shard.from > 0 && shard.from < shard.begin ? lead_of(window_) : 0;
      const KeyRange ahead{std::max<int64_t>(0, shard.from - lead), shard.from};
      cache.hold(prompt.sequence, {ahead.begin, split_count(shard.end) * split_keys},
                 engine.stream());
      cache.clear(prompt.sequence, ahead, engine.stream());
      const auto begin = tokens.begin();
      engine.assume(prompt.sequence, std::span(tokens).first(static_cast<size_t>(shard.from)));
      here.push_back({prompt.sequence, {begin + shard.from, begin + shard.end}, {}});
      for (size_t i = 0; !copies && i < prompt.outputs.size(); ++i) {
        if (prompt.outputs[i] <= shard.begin || prompt.outputs[i] > shard.end) continue;
        here.back().outputs.push_back(prompt.outputs[i]);
        asked.push_back(first + i);
      }
    }
    outputs.push_back({prompt.sequence, {}, prompt.outputs});
    whole.push_back(std::move(tokens));
    first += prompt.outputs.size();
  }
  std::vector<Prediction> made;
  if (!here.empty()) made = engine.prefill(here, want, chunk);
  for (size_t i = 0; i < made.size(); ++i) predictions[asked[i]] = std::move(made[i]);
  for (size_t p = 0; p < prompts.size(); ++p) {
    engine.assume(prompts[p].sequence, whole[p]);
    place(r, prompts[p].sequence);
  }
  if (!copies) return;
  made = engine.prefill(outputs, want);
  if (r == group_.first_here()) std::move(made.begin(), made.end(), predictions.begin());
}

}  // namespace orthros::cuda
