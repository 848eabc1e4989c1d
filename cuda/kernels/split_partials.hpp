// What the two launches of split attention share: the splits' softmaxes before they are merged.
#pragma once

#include "cuda/kernels/attention.hpp"
#include "cuda/layout/key_ranges.hpp"
#include "cuda/layout/shard_plan.hpp"

namespace orthros::cuda {

// A sequence's splits whose keys this device holds, where it does not hold all of them.
struct HeldSplits {
  const int32_t* list = nullptr;    // device; [sequence][stride], ascending; null: all are here
  const int32_t* counts = nullptr;  // device; by sequence
  int64_t stride = 0;

  // The index-th split of a sequence that is here; far past its end behind the last.
  ORTHROS_HOST_DEVICE int64_t split(int32_t sequence, int64_t index) const {
    constexpr int64_t none = int64_t{1} << 40;
    if (list == nullptr) return index;
    return index < counts[sequence] ? list[sequence * stride + index] : none;
  }
  // How many of a sequence's first `splits` are here. Most rows see all of their sequence's.
  ORTHROS_HOST_DEVICE int64_t count(int32_t sequence, int64_t splits) const {
    if (list == nullptr) return splits;
    int64_t here = counts[sequence];
    while (here > 0 && split(sequence, here - 1) >= splits) --here;
    return here;
  }
};

// Device memory of rows [windowed_rows, rows): the i-th split that is here of a row's query head
// stands at partial_offset; only those that hold keys of the row are written.
struct SplitPartials {
  float* values;   // [query head][row][splits][width], weighted sums, not divided
  float* most;     // [query head][row][splits], the largest score, scaled
  float* sum;      // [query head][row][splits], of weights
  int64_t splits;  // places for each row and head
  HeldSplits held;
};

// Partials gathered from all ranks, each rank's behind the other's as SplitPartials has them.
// `places`: device, [sequence][stride] by split; null: one rank's, which holds all.
struct GatheredPartials {
  SplitPartials partials;
  const SplitPlace* places = nullptr;
  int64_t stride = 0;
};

// The first launch alone: windows of rows [0, windowed_rows) to call.out, and the partials of the
// others.
void launch_split_partials(const Attention& call, const SplitWork& work,
                           const SplitPartials& partials);
// The same in plain code, of widths up to 512 and any group.
void launch_plain_partials(const Attention& call, const SplitWork& work,
                           const SplitPartials& partials);

// Folds every row's splits left to right and writes its bf16 output. Any width.
void launch_merge_splits(const Attention& call, const SplitWork& work,
                         const GatheredPartials& gathered);

}  // namespace orthros::cuda
