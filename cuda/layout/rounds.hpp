// How a prompt's chunks go round the ranks: rank r runs chunk r, then chunk r + ranks, and so on,
// so that with a causal mask all have about as many keys to read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cuda/layout/key_ranges.hpp"

namespace orthros::cuda {

// Rounds of a prompt's tokens [past, end): in each, every rank's positions, in order, of at most
// `chunk` each; the last round is shared out equally, in whole splits where there are as many.
inline std::vector<std::vector<KeyRange>> plan_rounds(int64_t past, int64_t end, int64_t ranks,
                                                      int64_t chunk) {
  std::vector<std::vector<KeyRange>> rounds;
  while (past < end) {
    const int64_t left = end - past;
    int64_t each = std::min(chunk, (left + ranks - 1) / ranks);
    if (each < chunk && each > hopper::split_keys) {
      each = std::min(chunk, split_count(each) * hopper::split_keys);
    }
    auto& round = rounds.emplace_back();
    for (int64_t r = 0; r < ranks; ++r) {
      const int64_t next = std::min(past + each, end);
      round.push_back({past, next});
      past = next;
    }
  }
  return rounds;
}

}  // namespace orthros::cuda
