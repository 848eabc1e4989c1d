// Shards, growth, and what is asked of all ranks.
#include "cuda/group/sharded_engine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cuda/engine/kv_store.hpp"
#include "cuda/group/sharded_rank.hpp"
#include "cuda/layout/key_ranges.hpp"
#include "reference/model/shards.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {
namespace {

constexpr int64_t split_keys = hopper::split_keys;

// Keys before a shard's first token that its first rows see, whole blocks of them.
int64_t lead_of(int64_t window) {
  return split_count(window + hopper::block_keys) * split_keys;
}

void require_shardable(const ModelSpec& spec) {
  require_runnable(spec);
  const auto& mixer = std::get<SoftmaxAttention>(spec.layers[0].mixer);
  if (split_attention_fits(attention_shape(spec))) return;
  throw InputError(spec.source, "head_dim",
                   fmt::format("expected 64, 128 or 256 and at most 16 query heads a KV head for "
                               "an Orthros model on more than one GPU, got {} and {}",
                               mixer.head_width, mixer.query_heads / mixer.kv_heads));
}

}  // namespace

ShardedEngine::ShardedEngine(const ModelSpec& spec, const ModelMaker& make_model,
                             const EngineLimits& limits, const GroupOptions& options)
    : spec_((require_shardable(spec), spec)),
      limits_(limits),
      rank_limits_(limits),
      reach_(base_reach(spec)),
      window_(0),
      group_(options, make_model),
      ranks_(options.devices.size()) {
  for (const Layer& layer : spec_.layers) {
    window_ = std::max(window_, std::get<SoftmaxAttention>(layer.mixer).window.value_or(0));
  }
  // Output rows of a pass: their partial softmaxes take memory.
  constexpr int64_t most_outputs = 16;
  rank_limits_.outputs = std::max(limits.sequences, std::min(limits.outputs, most_outputs));
  rank_limits_.held = options.balanced ? most_held(limits.context, group_.ranks(), reach_)
                                       : split_count(limits.context) * split_keys;
  holders_.assign(static_cast<size_t>(limits.sequences), SplitHolders(group_.ranks()));
  // In turn, so that each sees what memory the others on its device left.
  group_.run_in_turn([&](int32_t r) {
    ranks_[static_cast<size_t>(r)] = std::make_unique<Rank>(group_.model(r), rank_limits_,
                                                            group_.exchange(r), r, group_.ranks());
  });
}

ShardedEngine::~ShardedEngine() {
  try {
    group_.run([&](int32_t r) { ranks_[static_cast<size_t>(r)].reset(); });
  } catch (const std::exception&) {
    // What failed has been reported where it did.
  }
}

void ShardedEngine::require_room(int64_t sequence) const {
  const SplitHolders& holders = holders_[static_cast<size_t>(sequence)];
  const int64_t most = split_count(rank_limits_.held);
  for (int32_t r = 0; r < group_.ranks(); ++r) {
    if (holders.held(r) <= most) continue;
    throw InputError("tokens", "",
                     fmt::format("expected at most {} tokens of a sequence on a GPU, got {} on "
                                 "rank {}: tokens appended to a sequence go to one GPU; prefill "
                                 "them with the prompt",
                                 most * split_keys, holders.held(r) * split_keys, r));
  }
}

void ShardedEngine::extend(int64_t sequence, int64_t length) {
  SplitHolders& holders = holders_[static_cast<size_t>(sequence)];
  while (holders.splits() < split_count(length)) holders.add(holders.last());
}

std::vector<Prediction> ShardedEngine::prefill(std::span<const Prompt> prompts, Want want,
                                               int64_t chunk) {
  rank(group_.first_here()).engine.require(prompts);
  const std::vector<SplitHolders> before = holders_;
  std::vector<std::vector<RankShard>> shards;  // by prompt, then rank
  try {
    for (const Prompt& prompt : prompts) {
      const int64_t past = length(prompt.sequence);
      const int64_t end = past + static_cast<int64_t>(prompt.tokens.size());
      auto& holders = holders_[static_cast<size_t>(prompt.sequence)];
      if (past == 0) {
        holders = SplitHolders(group_.ranks());
        shards.push_back(plan_ranks(end, group_.ranks(), reach_, group_.options().balanced));
        for (int32_t r = 0; r < group_.ranks(); ++r) {
          const RankShard& shard = shards.back()[static_cast<size_t>(r)];
          while (!shard.empty() && holders.splits() < split_count(shard.end)) holders.add(r);
        }
      } else {
        auto& plan = shards.emplace_back(static_cast<size_t>(group_.ranks()));
        extend(prompt.sequence, end);
        plan[static_cast<size_t>(holders.last())] = {past, past, end};
      }
      require_room(prompt.sequence);
    }
  } catch (...) {
    holders_ = before;
    throw;
  }
  std::vector<Prediction> predictions;
  std::vector<Prompt> outputs;
  for (const Prompt& prompt : prompts) outputs.push_back({prompt.sequence, {}, prompt.outputs});
  group_.run([&](int32_t r) {
    if (r == group_.options().failing_rank) throw std::runtime_error("told to fail");
    run_shards(r, prompts, shards, chunk);
    std::vector<Prediction> here = rank(r).engine.prefill(outputs, want);
    if (r == group_.first_here()) predictions = std::move(here);
  });
  return predictions;
}

// A rank's shards of the prompts, and nothing predicted; then it knows all of their tokens.
void ShardedEngine::run_shards(int32_t r, std::span<const Prompt> prompts,
                               const std::vector<std::vector<RankShard>>& shards, int64_t chunk) {
  Rank& own = rank(r);
  std::vector<Prompt> here;
  std::vector<std::vector<int64_t>> whole;
  for (size_t p = 0; p < prompts.size(); ++p) {
    const Prompt& prompt = prompts[p];
    const RankShard& shard = shards[p][static_cast<size_t>(r)];
    std::vector<int64_t> tokens = own.engine.tokens(prompt.sequence);
    tokens.insert(tokens.end(), prompt.tokens.begin(), prompt.tokens.end());
    if (!shard.empty()) {
      KvStore& cache = own.engine.cache();
      const int64_t lead = shard.from > 0 && shard.from < shard.begin ? lead_of(window_) : 0;
      const KeyRange ahead{std::max<int64_t>(0, shard.from - lead), shard.from};
      cache.hold(prompt.sequence, {ahead.begin, split_count(shard.end) * split_keys});
      cache.clear(prompt.sequence, ahead, own.engine.stream());
      const auto begin = tokens.begin();
      own.engine.assume(prompt.sequence, std::span(tokens).first(static_cast<size_t>(shard.from)));
      here.push_back({prompt.sequence, {begin + shard.from, begin + shard.end}, {}});
    }
    whole.push_back(std::move(tokens));
  }
  if (!here.empty()) own.engine.prefill(here, Want::tokens, chunk);
  for (size_t p = 0; p < prompts.size(); ++p) {
    const int64_t sequence = prompts[p].sequence;
    own.engine.assume(sequence, whole[p]);
    own.outputs.place(sequence, holders_[static_cast<size_t>(sequence)], own.engine.stream());
  }
}

std::vector<NextToken> ShardedEngine::entering(int32_t r, std::span<const NextToken> tokens) const {
  std::vector<NextToken> here(tokens.begin(), tokens.end());
  for (NextToken& token : here) {
    token.enters = holders_[static_cast<size_t>(token.sequence)].last() == r;
  }
  return here;
}

void ShardedEngine::grow(std::span<const NextToken> tokens) {
  struct Move {
    int64_t sequence;
    int32_t from;  // negative: the sequence begins
    int32_t to;
    int64_t length;
  };
  std::vector<Move> moves;
  for (const NextToken& token : tokens) {
    const int64_t now = length(token.sequence);
    SplitHolders& holders = holders_[static_cast<size_t>(token.sequence)];
    if (split_count(now + 1) == holders.splits()) continue;
    const int32_t from = holders.splits() == 0 ? -1 : holders.last();
    const int32_t to = holders.roomiest();
    holders.add(to);
    moves.push_back({token.sequence, from, to, now});
  }
  if (moves.empty()) return;
  group_.run([&](int32_t r) {
    Rank& own = rank(r);
    KvStore& cache = own.engine.cache();
    cudaStream_t stream = own.engine.stream();
    for (const Move& move : moves) {
      const KeyRange window{first_visible(move.length, window_), move.length};
      const int64_t block = block_start(window.begin);
      if (r == move.to) {
        cache.hold(move.sequence, {block, split_count(move.length + 1) * split_keys});
      }
      if (move.from >= 0 && move.from != move.to) {
        const SplitHolders& holders = holders_[static_cast<size_t>(move.sequence)];
        if (r == move.to && holders.holder(split_of(block)) != r) {
          cache.clear(move.sequence, {block, window.begin}, stream);
        }
        hand_over(r, move.from, move.to, move.sequence, window);
      }
      own.outputs.place(move.sequence, holders_[static_cast<size_t>(move.sequence)], stream);
    }
  });
}

// The window's entries of all layers, from one rank's cache to another's. All ranks call it.
void ShardedEngine::hand_over(int32_t r, int32_t from, int32_t to, int64_t sequence,
                              KeyRange range) {
  KvStore& cache = rank(r).engine.cache();
  cudaStream_t stream = rank(r).engine.stream();
  const auto layers = static_cast<int64_t>(spec_.layers.size());
  const int64_t values = cache.packed_values(range);
  const DeviceBuffer<bf16_bits> packed(r == from || r == to ? layers * values : 0);
  const int64_t bytes = packed.bytes();
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;
  if (r == from) {
    for (int64_t i = 0; i < layers; ++i) {
      cache.pack(i, sequence, range, packed.data() + i * values, stream);
    }
    sends.push_back({to, packed.data(), bytes});
  }
  if (r == to) receives.push_back({from, packed.data(), bytes});
  group_.exchange(r).exchange(sends, receives, stream);
  for (int64_t i = 0; r == to && i < layers; ++i) {
    cache.unpack(i, sequence, range, packed.data() + i * values, stream);
  }
  rank(r).engine.synchronise();
}

std::vector<Prediction> ShardedEngine::decode(std::span<const NextToken> tokens, Want want,
                                              Launch launch) {
  if (tokens.empty()) return {};
  rank(group_.first_here()).engine.require(tokens, 1);
  grow(tokens);
  std::vector<Prediction> predictions;
  group_.run([&](int32_t r) {
    std::vector<Prediction> here = rank(r).engine.decode(entering(r, tokens), want, launch);
    if (r == group_.first_here()) predictions = std::move(here);
  });
  return predictions;
}

std::vector<int64_t> ShardedEngine::decode_greedily(std::span<const NextToken> tokens,
                                                    int64_t steps) {
  if (tokens.empty() || steps <= 0) return {};
  rank(group_.first_here()).engine.require(tokens, steps);
  std::vector<NextToken> next(tokens.begin(), tokens.end());
  std::vector<int64_t> all;
  while (steps > 0) {
    grow(next);
    int64_t together = steps;  // until a sequence leaves its split
    for (const NextToken& token : next) {
      together = std::min(together, split_keys - length(token.sequence) % split_keys);
    }
    std::vector<int64_t> ids;
    group_.run([&](int32_t r) {
      std::vector<int64_t> here = rank(r).engine.decode_greedily(entering(r, next), together);
      if (r == group_.first_here()) ids = std::move(here);
    });
    all.insert(all.end(), ids.begin(), ids.end());
    for (size_t i = 0; i < next.size(); ++i) next[i].token = ids[ids.size() - next.size() + i];
    steps -= together;
  }
  return all;
}

}  // namespace orthros::cuda
