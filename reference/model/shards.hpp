// Prefill of one prompt in shards that know nothing of each other: each runs enough tokens before
// its own again, since a base row after all layers sees no further back than its windows reach.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/model/forward_chunked.hpp"

namespace orthros {

// Tokens [begin, end) of a prompt (from 0), and from where on they are run.
struct Shard {
  int64_t from = 0;  // at most begin
  int64_t begin = 0;
  int64_t end = 0;
};

// How far back a base row's state reaches through all layers: the sum of w - 1. Throws InputError
// where a layer has no window, or a state in place of a cache.
inline int64_t base_reach(const ModelSpec& spec) {
  int64_t reach = 0;
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const auto* mixer = std::get_if<SoftmaxAttention>(&spec.layers[i].mixer);
    if (mixer == nullptr || !mixer->window || mixer->kv == KvSource::shared) {
      throw InputError(spec.source, fmt::format("layer {}", i),
                       "expected windowed attention with keys and values of its own, for shards");
    }
    reach += *mixer->window - 1;
  }
  return reach;
}

// `count` shards of `tokens`, cut and begun at multiples of `align`, as equal as that allows; fewer
// where there are not so many. Blocks, splits and sums of the engine's arithmetic stand at absolute
// positions, so a multiple of 512 moves none of them.
inline std::vector<Shard> plan_shards(const ModelSpec& spec, int64_t tokens, int64_t count,
                                      int64_t align = 512) {
  const int64_t reach = base_reach(spec);
  const int64_t units = (tokens + align - 1) / align;
  const int64_t shards = std::min(count, units);
  std::vector<Shard> plan;
  for (int64_t s = 0; s < shards; ++s) {
    const int64_t begin = s * units / shards * align;
    const int64_t end = std::min(tokens, (s + 1) * units / shards * align);
    plan.push_back({std::max<int64_t>(0, begin - reach) / align * align, begin, end});
  }
  return plan;
}

// Appends the prompt to an empty cache, shard by shard, each run alone. Result: the logits at
// `outputs` (positions from 1). Cache and logits are those of one forward, bit for bit in every
// scalar.
template <class S>
Logits<S> prefill_shards(const Model<S>& model, Cache<S>& cache, std::span<const int64_t> tokens,
                         std::span<const int64_t> outputs, std::span<const Shard> shards,
                         int64_t chunk = 0, const ForwardOptions<S>& options = {}) {
  if (cache.length() != 0) throw InputError("shards", "", "expected an empty cache");
  check_sequence(model.spec, Sequence<S>{&cache, tokens, outputs});
  const bool copies = model.spec.streams == Streams::dual;
  Logits<S> logits(static_cast<int64_t>(outputs.size()), model.spec.vocab);
  cache.grow(static_cast<int64_t>(tokens.size()));
  for (const Shard& shard : shards) {
    Cache<S> own(model.spec);
    own.position_shift = shard.from;
    std::vector<int64_t> here;    // of one stream: outputs of the shard's own tokens
    std::vector<int64_t> places;  // where they stand in `outputs`
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (copies || outputs[i] <= shard.begin || outputs[i] > shard.end) continue;
      here.push_back(outputs[i] - shard.from);
      places.push_back(static_cast<int64_t>(i));
    }
    const auto run = tokens.subspan(static_cast<size_t>(shard.from),
                                    static_cast<size_t>(shard.end - shard.from));
    const Logits<S> found = forward_chunked<S>(model, own, run, here, chunk, options);
    for (size_t i = 0; i < places.size(); ++i) {
      logits.row(places[i]) = found.row(static_cast<int64_t>(i));
    }
    const int64_t count = shard.end - shard.begin;
    for (size_t l = 0; l < cache.layers.size(); ++l) {
      const auto& from = std::get<KvCache<S>>(own.layers[l]);
      auto& to = std::get<KvCache<S>>(cache.layers[l]);
      to.keys.middleRows(shard.begin, count) = from.keys.bottomRows(count);
      to.values.middleRows(shard.begin, count) = from.values.bottomRows(count);
    }
  }
  cache.tokens.assign(tokens.begin(), tokens.end());
  cache.documents.assign(tokens.size(), 0);
  cache.document_first.assign(tokens.size(), 0);
  // A copy reads the whole cache, wherever it came from.
  if (copies) logits = forward<S>(model, cache, {}, outputs, options);
  return logits;
}

}  // namespace orthros
