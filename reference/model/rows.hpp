// The rows of a step: which token of which sequence each stands for, and in which stream.
#pragma once

#include <cstdint>

namespace orthros {

enum class Stream { base, output };

// One row of the fused tensor: base rows of the batch first, output copies behind them. A copy
// keeps the logical place of its token; where it stands in the tensor means nothing.
struct Row {
  int64_t sequence = 0;  // index in the batch
  int64_t entry = 0;     // its token's entry in the sequence's cache, from 0
  int64_t first = 0;     // first entry of its document
  int64_t position = 0;  // for RoPE, from 0: entry - first, plus the cache's shift
  Stream stream = Stream::base;
};

// An embedding's value as it enters a row's stream. A scalar that tells streams apart (the tracing
// one) has an overload of its own.
template <class S>
const S& entering(const S& value, const Row&) {
  return value;
}

}  // namespace orthros
