// A sequence's splits dealt round the ranks: split s is rank (s mod ranks)'s, where it stands
// behind those dealt to it before. Index arithmetic for host and device.
#pragma once

#include "cuda/layout/key_ranges.hpp"
#include "cuda/layout/rows.hpp"

namespace orthros::cuda {

// Whether a position's split is the rank's.
ORTHROS_HOST_DEVICE constexpr bool is_dealt(int64_t position, const Deal& deal) {
  return deal.ranks == 1 || split_of(position) % deal.ranks == deal.rank;
}

// Where the entry of a position stands among those of its rank.
ORTHROS_HOST_DEVICE constexpr int64_t dealt_place(int64_t position, int64_t ranks) {
  if (ranks == 1) return position;
  return split_of(position) / ranks * hopper::split_keys + position % hopper::split_keys;
}

// The position whose entry stands at a place of a rank's: dealt_place backwards.
ORTHROS_HOST_DEVICE constexpr int64_t dealt_position(int64_t place, const Deal& deal) {
  return (split_of(place) * deal.ranks + deal.rank) * hopper::split_keys +
         place % hopper::split_keys;
}

// How many of the positions [0, tokens) are a rank's; their places are as many from 0 on.
ORTHROS_HOST_DEVICE constexpr int64_t dealt_count(int64_t tokens, const Deal& deal) {
  const int64_t whole = split_of(tokens);  // splits in front of the one that is begun
  const int64_t splits = (whole + deal.ranks - 1 - deal.rank) / deal.ranks;
  const bool begun = whole % deal.ranks == deal.rank;
  return splits * hopper::split_keys + (begun ? tokens % hopper::split_keys : 0);
}

// Places that any rank has at most, of sequences of up to `context` tokens: whole splits.
constexpr int64_t most_dealt(int64_t context, int64_t ranks) {
  return (split_count(context) + ranks - 1) / ranks * hopper::split_keys;
}

}  // namespace orthros::cuda
