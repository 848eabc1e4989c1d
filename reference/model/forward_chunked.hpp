// forward over a prompt cut into chunks: the same bits, less memory at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/model/forward.hpp"

namespace orthros {

// The part of a sequence that one chunk's call appends, with the outputs that it answers.
template <class S>
struct SequenceChunk {
  size_t index = 0;  // in the whole batch
  Sequence<S> part;  // without outputs, which stand here:
  std::vector<int64_t> outputs;
  std::vector<int64_t> rows;  // where each output stands in the whole result

  // `past`: entries of the cache before the first chunk. Tokens begin .. begin + size of `whole`.
  SequenceChunk(size_t sequence_index, const Sequence<S>& whole, int64_t past, int64_t begin,
                int64_t size)
      : index(sequence_index), part{whole.cache, whole.tokens, {}, whole.documents} {
    const auto at = static_cast<size_t>(begin);
    part.tokens = whole.tokens.subspan(at, static_cast<size_t>(size));
    if (!whole.documents.empty()) {
      part.documents = whole.documents.subspan(at, static_cast<size_t>(size));
    }
    for (size_t i = 0; i < whole.outputs.size(); ++i) {
      const int64_t position = whole.outputs[i];
      const bool here = position > past + begin && position <= past + begin + size;
      if (!here && !(begin == 0 && position <= past)) continue;
      outputs.push_back(position);
      rows.push_back(static_cast<int64_t>(i));
    }
  }

  // Valid while this stays where it is.
  Sequence<S> sequence() const { return {part.cache, part.tokens, outputs, part.documents}; }
};

// Appends each sequence's tokens to its cache, `chunk` at a time (0: in one), with outputs
// (positions in the whole sequence, any order) taken in the chunk that holds their token. A
// sequence that has ended leaves the batch. Result: for each sequence a row for each output, in the
// order asked. Bad tokens or positions: InputError, with no cache changed.
template <class S, Fault F = configured_fault>
std::vector<Logits<S>> forward_chunked(const Model<S>& model, std::span<const Sequence<S>> batch,
                                       int64_t chunk, const ForwardOptions<S>& options = {}) {
  int64_t longest = 0;
  for (const Sequence<S>& sequence : batch) {
    longest = std::max(longest, static_cast<int64_t>(sequence.tokens.size()));
  }
  if (chunk <= 0 || chunk >= longest) return forward<S, F>(model, batch, options);
  std::vector<Logits<S>> results;
  std::vector<int64_t> past;  // entries that each cache held before
  for (const Sequence<S>& sequence : batch) {
    check_sequence(model.spec, sequence);
    results.emplace_back(static_cast<int64_t>(sequence.outputs.size()), model.spec.vocab);
    past.push_back(sequence.cache->length());
  }
  for (int64_t begin = 0; begin < longest; begin += chunk) {
    std::vector<SequenceChunk<S>> parts;
    for (size_t s = 0; s < batch.size(); ++s) {
      const auto count = static_cast<int64_t>(batch[s].tokens.size());
      if (begin > 0 && begin >= count) continue;
      parts.emplace_back(s, batch[s], past[s], begin, std::min(chunk, count - begin));
    }
    std::vector<Sequence<S>> step;
    for (const SequenceChunk<S>& part : parts) step.push_back(part.sequence());
    const std::vector<Logits<S>> logits =
        forward<S, F>(model, std::span<const Sequence<S>>(step), options);
    for (size_t p = 0; p < parts.size(); ++p) {
      for (size_t i = 0; i < parts[p].rows.size(); ++i) {
        results[parts[p].index].row(parts[p].rows[i]) = logits[p].row(static_cast<int64_t>(i));
      }
    }
  }
  return results;
}

// The same for a single sequence. Result: outputs x vocab.
template <class S, Fault F = configured_fault>
Logits<S> forward_chunked(const Model<S>& model, Cache<S>& cache, std::span<const int64_t> tokens,
                          std::span<const int64_t> outputs, int64_t chunk,
                          const ForwardOptions<S>& options = {}) {
  const Sequence<S> sequence{&cache, tokens, outputs};
  return forward_chunked<S, F>(model, std::span(&sequence, 1), chunk, options)[0];
}

}  // namespace orthros
