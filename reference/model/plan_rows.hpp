// Checks a batch and lays out its rows: base rows, then output copies at their logical places.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "reference/model/fault.hpp"
#include "reference/model/step.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros {

// What a sequence may ask for, checked before anything changes. Throws InputError.
template <class S>
void check_sequence(const ModelSpec& spec, const Sequence<S>& sequence) {
  const int64_t before = sequence.cache->length();
  const auto after = before + static_cast<int64_t>(sequence.tokens.size());
  for (const int64_t token : sequence.tokens) {
    if (token < 0 || token >= spec.vocab) {
      throw InputError("tokens", "",
                       fmt::format("expected ids from 0 to {}, got {}", spec.vocab - 1, token));
    }
  }
  if (!sequence.documents.empty() && sequence.documents.size() != sequence.tokens.size()) {
    throw InputError("documents", "",
                     fmt::format("expected one id for each of {} tokens, got {}",
                                 sequence.tokens.size(), sequence.documents.size()));
  }
  // An output copy of softmax layers reads the cache as of its position, whenever it runs. Without
  // copies, and through recurrent states, only what this call passes by can be predicted from.
  bool linear = false;
  for (const Layer& layer : spec.layers) {
    linear = linear || std::holds_alternative<LinearMixer>(layer.mixer);
  }
  int64_t earliest = 1;
  if (spec.streams == Streams::single) {
    earliest = before + 1;
  } else if (linear) {
    earliest = std::max<int64_t>(before, 1);  // the state after the last token still stands
  }
  for (const int64_t position : sequence.outputs) {
    if (position < earliest || position > after) {
      throw InputError("outputs", "",
                       earliest > after ? fmt::format("expected no positions, got {}", position)
                                        : fmt::format("expected positions from {} to {}, got {}",
                                                      earliest, after, position));
    }
  }
}

// Records the new tokens in the cache, with their documents.
template <class S>
void append_tokens(const Sequence<S>& sequence) {
  Cache<S>& cache = *sequence.cache;
  for (size_t i = 0; i < sequence.tokens.size(); ++i) {
    const int64_t entry = cache.length();
    const int64_t last = entry == 0 ? 0 : cache.documents.back();
    const int64_t document = sequence.documents.empty() ? last : sequence.documents[i];
    const bool starts = entry == 0 || document != last;
    cache.document_first.push_back(starts ? entry : cache.document_first.back());
    cache.documents.push_back(document);
    cache.tokens.push_back(sequence.tokens[i]);
  }
  cache.grow(static_cast<int64_t>(sequence.tokens.size()));
}

template <class S>
Row row_at(const Sequence<S>& sequence, int64_t index, int64_t entry, Stream stream) {
  const Cache<S>& cache = *sequence.cache;
  const int64_t first = cache.document_first[static_cast<size_t>(entry)];
  return {index, entry, first, entry - first + cache.position_shift, stream};
}

// Rows of a step over a checked batch whose tokens are appended. Under dual streams each output
// position gets a copy; a single stream predicts from its base rows.
template <class S, Fault F>
void plan_rows(Step<S>& step) {
  const auto sequences = static_cast<int64_t>(step.batch.size());
  for (int64_t s = 0; s < sequences; ++s) {
    const Sequence<S>& sequence = step.batch[static_cast<size_t>(s)];
    const int64_t length = sequence.cache->length();
    const int64_t before = length - static_cast<int64_t>(sequence.tokens.size());
    for (int64_t entry = before; entry < length; ++entry) {
      step.rows.push_back(row_at(sequence, s, entry, Stream::base));
    }
  }
  step.base_rows = static_cast<int64_t>(step.rows.size());
  if (step.spec.streams == Streams::single) return;
  for (int64_t s = 0; s < sequences; ++s) {
    const Sequence<S>& sequence = step.batch[static_cast<size_t>(s)];
    int64_t array_index = sequence.cache->length();
    for (const int64_t position : sequence.outputs) {
      Row row = row_at(sequence, s, position - 1, Stream::output);
      if constexpr (F == Fault::index_as_position) row.position = array_index - row.first;
      ++array_index;
      step.rows.push_back(row);
    }
  }
}

}  // namespace orthros
