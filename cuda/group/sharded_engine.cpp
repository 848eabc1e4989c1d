// Ranks, growth and decode steps.
#include "cuda/group/sharded_engine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cuda/engine/kv_store.hpp"
#include "cuda/group/sharded_rank.hpp"
#include "cuda/group/told.hpp"
#include "reference/model/shards.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {
namespace {

constexpr int64_t split_keys = hopper::split_keys;

}  // namespace

Spreading spreading_of(const ModelSpec& spec) {
  require_runnable(spec);
  const auto windowed = [](const Layer& layer) {
    return std::get<SoftmaxAttention>(layer.mixer).window.has_value();
  };
  if (spec.streams == Streams::dual) {
    base_reach(spec);  // throws where a layer has no window
    return Spreading::shards_and_outputs;
  }
  if (std::all_of(spec.layers.begin(), spec.layers.end(), windowed)) return Spreading::shards;
  if (std::none_of(spec.layers.begin(), spec.layers.end(), windowed)) return Spreading::rounds;
  throw InputError(spec.source, "layers",
                   "expected windows in all layers or in none on more than one GPU");
}

ShardedEngine::ShardedEngine(const ModelSpec& spec, const ModelMaker& make_model,
                             const EngineLimits& limits, const GroupOptions& options,
                             const PromptAttentionMaker& make_attention)
    : spec_(spec),
      spreading_(spreading_of(spec)),
      limits_(limits),
      rank_limits_(limits),
      group_(options, make_model),
      ranks_(options.devices.size()) {
  if (spreading_ != Spreading::rounds) {
    reach_ = base_reach(spec_);
    for (const Layer& layer : spec_.layers) {
      window_ = std::max(window_, *std::get<SoftmaxAttention>(layer.mixer).window);
    }
    rank_limits_.held = options.balanced ? most_held(limits.context, group_.ranks(), reach_)
                                         : split_count(limits.context) * split_keys;
  }
  if (spreading_ == Spreading::shards_and_outputs) {
    // Output rows of a pass: their partial softmaxes take memory.
    constexpr int64_t most_outputs = 16;
    rank_limits_.outputs = std::max(limits.sequences, std::min(limits.outputs, most_outputs));
  }
  holders_.assign(static_cast<size_t>(limits.sequences), SplitHolders(group_.ranks()));
  // In turn, so that each sees what memory the others on its device left.
  group_.run_in_turn([&](int32_t r) {
    EngineLimits own = rank_limits_;
    if (spreading_ == Spreading::rounds) own.deal = {r, group_.ranks()};
    ranks_[static_cast<size_t>(r)] =
        std::make_unique<Rank>(group_, r, spreading_, own, make_attention);
  });
}

ShardedEngine::~ShardedEngine() {
  try {
    group_.run([&](int32_t r) { ranks_[static_cast<size_t>(r)].reset(); });
  } catch (const std::exception&) {
    // What failed has been reported where it did.
  }
}

Engine& ShardedEngine::first() const {
  return rank(group_.first_here()).engine;
}

int32_t ShardedEngine::next_holder(int64_t sequence) const {
  const SplitHolders& known = holders(sequence);
  if (spreading_ != Spreading::rounds) return known.roomiest();
  return static_cast<int32_t>(known.splits() % group_.ranks());
}

void ShardedEngine::extend(int64_t sequence, int64_t length) {
  SplitHolders& known = holders(sequence);
  while (known.splits() < split_count(length)) {
    known.add(spreading_ == Spreading::rounds ? next_holder(sequence) : known.last());
  }
}

void ShardedEngine::place(int32_t r, int64_t sequence) {
  Rank& own = rank(r);
  if (own.outputs) own.outputs->place(sequence, holders(sequence), own.engine.stream());
}

std::vector<Prediction> ShardedEngine::prefill(std::span<const Prompt> prompts, Want want,
                                               int64_t chunk) {
  first().require(prompts);
  std::vector<std::vector<RankShard>> shards;  // by prompt, then rank
  std::vector<Rounds> rounds;                  // by prompt
  if (spreading_ == Spreading::rounds) {
    rounds = plan_prompt_rounds(prompts, chunk);
  } else {
    shards = plan_shards(prompts);
  }
  std::vector<int32_t> makers;
  for (size_t p = 0; p < prompts.size(); ++p) {
    for (const int64_t position : prompts[p].outputs) {
      makers.push_back(rounds.empty() ? rank_of(position, shards[p])
                                      : rank_of(position, rounds[p]));
    }
  }
  std::vector<Prediction> predictions(makers.size());
  group_.run([&](int32_t r) {
    if (r == group_.options().failing_rank) throw std::runtime_error("told to fail");
    if (spreading_ != Spreading::rounds) {
      run_shards(r, prompts, shards, want, chunk, predictions);
      return;
    }
    size_t first = 0;
    for (size_t p = 0; p < prompts.size(); ++p) {
      run_rounds(r, prompts[p], rounds[p], want,
                 std::span(predictions).subspan(first, prompts[p].outputs.size()));
      first += prompts[p].outputs.size();
    }
  });
  if (spreading_ != Spreading::shards_and_outputs) {
    tell_predictions(predictions, makers, logits_of(want));
  }
  return predictions;
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
    SplitHolders& known = holders(token.sequence);
    if (split_count(now + 1) == known.splits()) continue;
    const int32_t from = known.splits() == 0 ? -1 : known.last();
    const int32_t to = next_holder(token.sequence);
    known.add(to);
    moves.push_back({token.sequence, from, to, now});
  }
  if (moves.empty()) return;
  group_.run([&](int32_t r) {
    KvStore& cache = rank(r).engine.cache();
    cudaStream_t stream = rank(r).engine.stream();
    for (const Move& move : moves) {
      place(r, move.sequence);
      if (spreading_ == Spreading::rounds) continue;
      const KeyRange window{first_visible(move.length, window_), move.length};
      const int64_t block = block_start(window.begin);
      if (r == move.to) {
        cache.hold(move.sequence, {block, split_count(move.length + 1) * split_keys}, stream);
      }
      if (move.from < 0 || move.from == move.to) continue;
      if (r == move.to && holders(move.sequence).holder(split_of(block)) != r) {
        cache.clear(move.sequence, {block, window.begin}, stream);
      }
      hand_over(r, move.from, move.to, move.sequence, window);
    }
  });
}

// The window's entries of all layers, from one rank's cache to another's. All ranks call it.
void ShardedEngine::hand_over(int32_t r, int32_t from, int32_t to, int64_t sequence,
                              KeyRange range) {
  KvStore& cache = rank(r).engine.cache();
  cudaStream_t stream = rank(r).engine.stream();
  const auto layers = static_cast<int64_t>(spec_.layers.size());
  const int64_t each = cache.packed_bytes(range);
  const DeviceBuffer<uint8_t> packed(r == from || r == to ? layers * each : 0);
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;
  if (r == from) {
    for (int64_t i = 0; i < layers; ++i) {
      cache.pack(i, sequence, range, packed.data() + i * each, stream);
    }
    sends.push_back({to, packed.data(), packed.bytes()});
  }
  if (r == to) receives.push_back({from, packed.data(), packed.bytes()});
  group_.exchange(r).exchange(sends, receives, stream);
  for (int64_t i = 0; r == to && i < layers; ++i) {
    cache.unpack(i, sequence, range, packed.data() + i * each, stream);
  }
  rank(r).engine.synchronise();
}

ShardedEngine::Turn ShardedEngine::turn(int32_t r, std::span<const NextToken> tokens) const {
  Turn own;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool holds = holders(tokens[i].sequence).last() == r;
    if (spreading_ == Spreading::shards && !holds) continue;
    own.tokens.push_back(tokens[i]);
    // Where splits are dealt, every rank runs the row, and the one whose split it is keeps its
    // keys.
    own.tokens.back().enters = holds || spreading_ == Spreading::rounds;
    own.whose.push_back(i);
  }
  return own;
}

std::vector<int32_t> ShardedEngine::last_holders(std::span<const NextToken> tokens) const {
  std::vector<int32_t> all;
  for (const NextToken& token : tokens) all.push_back(holders(token.sequence).last());
  return all;
}

void ShardedEngine::tell_others(std::span<const NextToken> tokens, std::span<const int64_t> ids) {
  if (spreading_ != Spreading::shards) return;
  for (const int32_t r : group_.here()) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      const int64_t sequence = tokens[i].sequence;
      if (holders(sequence).last() == r) continue;
      rank(r).engine.append(sequence, tokens[i].token);
      for (size_t at = i; at < ids.size(); at += tokens.size()) {
        rank(r).engine.append(sequence, ids[at]);
      }
    }
  }
}

std::vector<Prediction> ShardedEngine::decode(std::span<const NextToken> tokens, Want want,
                                              Launch launch) {
  if (tokens.empty()) return {};
  first().require(tokens, 1);
  grow(tokens);
  std::vector<Prediction> predictions(tokens.size());
  group_.run([&](int32_t r) {
    const Turn own = turn(r, tokens);
    std::vector<Prediction> here = rank(r).engine.decode(own.tokens, want, launch);
    for (size_t i = 0; tells(r) && i < here.size(); ++i) {
      predictions[own.whose[i]] = std::move(here[i]);
    }
  });
  if (spreading_ == Spreading::shards) {
    tell_predictions(predictions, last_holders(tokens), logits_of(want));
  }
  tell_others(tokens, {});
  return predictions;
}

std::vector<int64_t> ShardedEngine::decode_greedily(std::span<const NextToken> tokens,
                                                    int64_t steps) {
  if (tokens.empty() || steps <= 0) return {};
  first().require(tokens, steps);
  std::vector<NextToken> next(tokens.begin(), tokens.end());
  std::vector<int64_t> all;
  while (steps > 0) {
    grow(next);
    int64_t together = steps;  // until a sequence leaves its split
    for (const NextToken& token : next) {
      together = std::min(together, split_keys - length(token.sequence) % split_keys);
    }
    std::vector<int64_t> ids(next.size() * static_cast<size_t>(together));
    group_.run([&](int32_t r) {
      const Turn own = turn(r, next);
      const std::vector<int64_t> here = rank(r).engine.decode_greedily(own.tokens, together);
      for (size_t i = 0; tells(r) && i < here.size(); ++i) {
        const size_t step = i / own.whose.size();
        ids[step * next.size() + own.whose[i % own.whose.size()]] = here[i];
      }
    });
    if (spreading_ == Spreading::shards) tell_ids(ids, last_holders(next));
    tell_others(next, std::span(ids).first(ids.size() - next.size()));
    all.insert(all.end(), ids.begin(), ids.end());
    for (size_t i = 0; i < next.size(); ++i) next[i].token = ids[ids.size() - next.size() + i];
    steps -= together;
  }
  return all;
}

}  // namespace orthros::cuda
