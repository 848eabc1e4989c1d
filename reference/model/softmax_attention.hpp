// Softmax attention of one query head over a range of cached keys: the core of Eqs. 4 and 5.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "reference/model/arithmetic.hpp"
#include "reference/model/fault.hpp"
#include "reference/model/rows.hpp"

namespace orthros {

// Cache entries [begin, end) that a row sees.
struct KeyRange {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t first = 0;      // first entry of the row's document
  bool windowed = false;  // the base stream's attention in a layer with a window
};

// Eq. 4, base stream: the last w keys of its document, its own included. Eq. 5, output stream:
// the whole document up to its own key. `cached`: entries in the cache, which only a fault reaches.
template <Fault F>
KeyRange visible_keys(const Row& row, std::optional<int64_t> window, int64_t cached) {
  int64_t end = row.entry + 1;
  if constexpr (F == Fault::index_as_position) {
    if (row.stream == Stream::output) end = std::min(row.position + row.first + 1, cached);
  }
  const bool windowed = window && (row.stream == Stream::base || F == Fault::output_reads_window);
  if (!windowed) return {row.first, end, row.first, false};
  const int64_t keys = *window + (F == Fault::window_off_by_one ? 1 : 0);
  return {std::max(row.first, end - std::min(keys, end)), end, row.first, true};
}

// o = sum over j in range of softmax(q k_j / sqrt d) v_j. Keys in ascending order, the true
// maximum of the visible scores taken off first, masked keys never touched. q: d values; key j at
// keys + j * stride, value j likewise; o: d values. An empty range gives 0.
template <class S>
void attend(const S* q, const S* keys, const S* values, int64_t stride, int64_t width,
            KeyRange range, S* o) {
  using A = Accumulator<S>;
  using std::exp;
  using std::max;
  const A scale(static_cast<A>(1.0 / std::sqrt(static_cast<double>(width))));
  const int64_t count = range.end - range.begin;
  if (count <= 0) {
    std::fill_n(o, width, S(0.0));
    return;
  }
  std::vector<A> weights(static_cast<size_t>(count), A(0.0));
  for (int64_t j = 0; j < count; ++j) {
    const S* key = keys + (range.begin + j) * stride;
    A dot(0.0);
    for (int64_t i = 0; i < width; ++i) dot = multiply_add(dot, widen(q[i]), widen(key[i]));
    weights[static_cast<size_t>(j)] = dot * scale;
  }
  A most = weights[0];
  for (int64_t j = 1; j < count; ++j) most = max(most, weights[static_cast<size_t>(j)]);
  A sum(0.0);
  for (A& weight : weights) {
    weight = exp(weight - most);
    sum = sum + weight;
  }
  std::vector<A> total(static_cast<size_t>(width), A(0.0));
  for (int64_t j = 0; j < count; ++j) {
    const S* value = values + (range.begin + j) * stride;
    const A weight = widen(static_cast<S>(weights[static_cast<size_t>(j)]));
    for (int64_t i = 0; i < width; ++i) {
      A& t = total[static_cast<size_t>(i)];
      t = multiply_add(t, weight, widen(value[i]));
    }
  }
  for (int64_t i = 0; i < width; ++i) o[i] = static_cast<S>(total[static_cast<size_t>(i)] / sum);
}

}  // namespace orthros
