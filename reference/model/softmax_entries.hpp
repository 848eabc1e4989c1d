// The KV heads that a step's softmax layer reads, in the form that the scalar's attention asks for.
#pragma once

#include <algorithm>
#include <vector>

#include "reference/model/operations.hpp"
#include "reference/model/parallel.hpp"
#include "reference/model/step.hpp"

namespace orthros {

// Entries of every sequence's KV heads, over all that the sequence's rows see: sequences x Hkv.
// visible: a row's KeyRange. kv_layer: which entry of the caches.
template <class S, class Visible>
std::vector<typename Operations<S>::Entries> entries_read(const Step<S>& step,
                                                          const SoftmaxAttention& mixer,
                                                          int64_t kv_layer,
                                                          const Visible& visible) {
  std::vector<const KvCache<S>*> caches(step.batch.size(), nullptr);
  std::vector<KeyRange> read(step.batch.size());
  for (const Row& row : step.rows) {
    const auto sequence = static_cast<size_t>(row.sequence);
    const KeyRange range = visible(row);
    KeyRange& all = read[sequence];
    all.begin = caches[sequence] ? std::min(all.begin, range.begin) : range.begin;
    all.end = std::max(all.end, range.end);
    caches[sequence] = &std::get<KvCache<S>>(step.cache_of(row, kv_layer));
  }
  int64_t values = 0;
  for (const KeyRange& range : read) values += (range.end - range.begin) * mixer.kv_width();
  std::vector<typename Operations<S>::Entries> entries(caches.size() *
                                                       static_cast<size_t>(mixer.kv_heads));
  parallel_for(static_cast<int64_t>(entries.size()), values, [&](int64_t i) {
    const auto sequence = static_cast<size_t>(i / mixer.kv_heads);
    if (caches[sequence] == nullptr) return;
    const KvCache<S>& kv = *caches[sequence];
    const int64_t at = i % mixer.kv_heads * mixer.head_width;
    entries[static_cast<size_t>(i)] = Operations<S>::entries(
        {kv.keys.data() + at, kv.values.data() + at, kv.keys.cols(), mixer.head_width},
        read[sequence]);
  });
  return entries;
}

}  // namespace orthros
