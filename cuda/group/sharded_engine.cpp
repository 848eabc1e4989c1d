// Shards, growth, and what is asked of all ranks.
#include "cuda/group/sharded_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

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

}  // namespace

std::vector<int> devices_for(int64_t ranks) {
  int there = 0;
  ORTHROS_CUDA(cudaGetDeviceCount(&there));
  std::vector<int> devices;
  for (int64_t r = 0; r < ranks; ++r) devices.push_back(static_cast<int>(r % there));
  return devices;
}

ShardedEngine::ShardedEngine(const ModelSpec& spec, const ModelMaker& make_model,
                             const EngineLimits& limits, const GroupOptions& options)
    : spec_(spec), limits_(limits), rank_limits_(limits), options_(options) {
  require_shardable();
  reach_ = base_reach(spec_);
  window_ = 0;
  for (const Layer& layer : spec_.layers) {
    window_ = std::max(window_, std::get<SoftmaxAttention>(layer.mixer).window.value_or(0));
  }
  // Output rows of a pass: their partial softmaxes take memory.
  constexpr int64_t most_outputs = 16;
  rank_limits_.outputs = std::max(limits.sequences, std::min(limits.outputs, most_outputs));
  rank_limits_.held = options.balanced ? most_held(limits.context, ranks(), reach_)
                                       : split_count(limits.context) * split_keys;
  holders_.assign(static_cast<size_t>(limits.sequences), SplitHolders(ranks()));
  exchanges_ = make_exchanges(options.transport, options.devices, options.patience_ms);
  crew_ =
      std::make_unique<Crew>(ranks(), Crew::Watch{[this] {
                                                    for (const auto& end : exchanges_)
                                                      end->require_health();
                                                  },
                                                  [this] {
                                                    for (const auto& end : exchanges_) end->abort();
                                                  },
                                                  std::chrono::milliseconds(options.patience_ms)});
  begin_ranks(make_model);
}

ShardedEngine::~ShardedEngine() {
  if (!crew_) return;
  try {
    crew_->run([&](int32_t r) {
      if (static_cast<size_t>(r) < ranks_.size()) ranks_[static_cast<size_t>(r)].reset();
      if (static_cast<size_t>(r) < models_.size()) models_[static_cast<size_t>(r)].reset();
    });
  } catch (const std::exception&) {
    // What failed has been reported where it did.
  }
}

void ShardedEngine::require_shardable() const {
  require_runnable(spec_);
  const auto& mixer = std::get<SoftmaxAttention>(spec_.layers[0].mixer);
  if (spec_.streams != Streams::dual || !mixer.window) {
    throw InputError(spec_.source, "--gpus",
                     "expected an Orthros model for more than one GPU: a window in every layer "
                     "and an output stream");
  }
  if (!split_attention_fits(attention_shape(spec_))) {
    throw InputError(spec_.source, "head_dim",
                     fmt::format("expected 64, 128 or 256 and at most 16 query heads a KV head for "
                                 "more than one GPU, got {} and {}",
                                 mixer.head_width, mixer.query_heads / mixer.kv_heads));
  }
}

void ShardedEngine::begin_ranks(const ModelMaker& make_model) {
  const auto count = static_cast<size_t>(ranks());
  models_.resize(count);
  ranks_.resize(count);
  // One thread a device makes its weights; ranks of the same device share them.
  std::map<int, int32_t> first_of;
  for (int32_t r = static_cast<int32_t>(count) - 1; r >= 0; --r) {
    first_of[options_.devices[static_cast<size_t>(r)]] = r;
  }
  const auto device = [&](int32_t r) { return options_.devices[static_cast<size_t>(r)]; };
  crew_->run([&](int32_t r) {
    ORTHROS_CUDA(cudaSetDevice(device(r)));
    if (first_of.at(device(r)) == r) {
      models_[static_cast<size_t>(r)] = std::make_shared<const DeviceModel>(make_model());
    }
  });
  for (int32_t r = 0; r < static_cast<int32_t>(count); ++r) {
    models_[static_cast<size_t>(r)] = models_[static_cast<size_t>(first_of.at(device(r)))];
  }
  // One after another on a device, so that each sees what memory the others left.
  std::mutex turn;
  crew_->run([&](int32_t r) {
    const std::lock_guard lock(turn);
    ranks_[static_cast<size_t>(r)] =
        std::make_unique<Rank>(*models_[static_cast<size_t>(r)], rank_limits_,
                               *exchanges_[static_cast<size_t>(r)], r, static_cast<int32_t>(count));
  });
}

void ShardedEngine::require_room(int64_t sequence) const {
  const SplitHolders& holders = holders_[static_cast<size_t>(sequence)];
  const int64_t most = split_count(rank_limits_.held);
  for (int32_t r = 0; r < ranks(); ++r) {
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
  rank(0).engine.require(prompts);
  const std::vector<SplitHolders> before = holders_;
  std::vector<std::vector<RankShard>> shards;  // by prompt, then rank
  try {
    for (const Prompt& prompt : prompts) {
      const int64_t past = length(prompt.sequence);
      const int64_t end = past + static_cast<int64_t>(prompt.tokens.size());
      auto& holders = holders_[static_cast<size_t>(prompt.sequence)];
      if (past == 0) {
        holders = SplitHolders(ranks());
        shards.push_back(plan_ranks(end, ranks(), reach_, options_.balanced));
        for (int32_t r = 0; r < ranks(); ++r) {
          const RankShard& shard = shards.back()[static_cast<size_t>(r)];
          while (!shard.empty() && holders.splits() < split_count(shard.end)) holders.add(r);
        }
      } else {
        auto& plan = shards.emplace_back(static_cast<size_t>(ranks()));
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
  crew_->run([&](int32_t r) {
    if (r == options_.failing_rank) throw std::runtime_error("told to fail");
    run_shards(r, prompts, shards, chunk);
    std::vector<Prediction> here = rank(r).engine.prefill(outputs, want);
    if (r == 0) predictions = std::move(here);
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
  crew_->run([&](int32_t r) {
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
        const int64_t values = cache.packed_values(window);
        const DeviceBuffer<bf16_bits> packed(r == move.from || r == move.to ? values : 0);
        const int64_t bytes = values * static_cast<int64_t>(sizeof(bf16_bits));
        std::vector<Transfer> sends;
        std::vector<Transfer> receives;
        if (r == move.from) {
          cache.pack(move.sequence, window, packed.data(), stream);
          sends.push_back({move.to, packed.data(), bytes});
        }
        if (r == move.to) receives.push_back({move.from, packed.data(), bytes});
        exchanges_[static_cast<size_t>(r)]->exchange(sends, receives, stream);
        if (r == move.to) cache.unpack(move.sequence, window, packed.data(), stream);
        own.engine.synchronise();
      }
      own.outputs.place(move.sequence, holders_[static_cast<size_t>(move.sequence)], stream);
    }
  });
}

std::vector<Prediction> ShardedEngine::decode(std::span<const NextToken> tokens, Want want,
                                              Launch launch) {
  if (tokens.empty()) return {};
  rank(0).engine.require(tokens, 1);
  grow(tokens);
  std::vector<Prediction> predictions;
  crew_->run([&](int32_t r) {
    std::vector<Prediction> here = rank(r).engine.decode(entering(r, tokens), want, launch);
    if (r == 0) predictions = std::move(here);
  });
  return predictions;
}

std::vector<int64_t> ShardedEngine::decode_greedily(std::span<const NextToken> tokens,
                                                    int64_t steps) {
  if (tokens.empty() || steps <= 0) return {};
  rank(0).engine.require(tokens, steps);
  std::vector<NextToken> next(tokens.begin(), tokens.end());
  std::vector<int64_t> all;
  while (steps > 0) {
    grow(next);
    int64_t together = steps;  // until a sequence leaves its split
    for (const NextToken& token : next) {
      together = std::min(together, split_keys - length(token.sequence) % split_keys);
    }
    std::vector<int64_t> ids;
    crew_->run([&](int32_t r) {
      std::vector<int64_t> here = rank(r).engine.decode_greedily(entering(r, next), together);
      if (r == 0) ids = std::move(here);
    });
    all.insert(all.end(), ids.begin(), ids.end());
    for (size_t i = 0; i < next.size(); ++i) next[i].token = ids[ids.size() - next.size() + i];
    steps -= together;
  }
  return all;
}

}  // namespace orthros::cuda
