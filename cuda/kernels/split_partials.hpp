// What the two launches of split attention share: the splits' softmaxes before they are merged.
#pragma once

#include "cuda/kernels/attention.hpp"
#include "cuda/layout/key_ranges.hpp"

namespace orthros::cuda {

// Device memory of rows [windowed_rows, rows): split s of a row's query head stands at
// partial_offset; only splits that hold keys of the row are written.
struct SplitPartials {
  float* values;   // [row][query head][splits][width], weighted sums, not divided
  float* most;     // [row][query head][splits], the largest score, scaled
  float* sum;      // [row][query head][splits], of weights
  int64_t splits;  // places for each row and head
};

// Folds every row's splits left to right and writes its bf16 output.
void launch_merge_splits(const Attention& call, const SplitWork& work,
                         const SplitPartials& partials);

}  // namespace orthros::cuda
