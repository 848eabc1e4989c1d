// The keys near a run of base rows, which are widened to bf16 in a scratch cache of one sequence
// before a prompt's attention reads them: where they begin, and how rows count from there.
#pragma once

#include <vector>

#include "cuda/layout/key_ranges.hpp"
#include "cuda/layout/rows.hpp"

namespace orthros::cuda {

// Every key that the run's rows see through windows of up to `window` (0: none, so all), from the
// start of a 16-key block on.
constexpr KeyRange near_keys(const QueryRun& run, int64_t window) {
  return {block_start(first_visible(run.position, window)), run.position + run.count};
}

// How many keys near_keys has at most for runs of up to `chunk` rows in sequences of `context`.
constexpr int64_t most_near_keys(int64_t window, int64_t context, int64_t chunk) {
  const int64_t most = window + hopper::block_keys + chunk;
  return window == 0 || most > context ? context : most;
}

// The run, or a row of it, in the scratch cache, whose key 0 is the first of `near`: blocks of 16
// keys stay blocks, and a row sees the same keys through its window.
constexpr QueryRun in_scratch(QueryRun run, KeyRange near) {
  run.position -= near.begin;
  run.sequence = 0;
  return run;
}
constexpr Row in_scratch(Row row, KeyRange near) {
  row.position -= near.begin;
  row.sequence = 0;
  return row;
}

// All runs of a pass, their rows among all of its rows, and the tiles of these.
inline void place_in_scratch(std::vector<QueryRun>& runs, std::vector<Row>& rows,
                             std::vector<RowTile>& tiles, int64_t window) {
  for (RowTile& tile : tiles) tile.sequence = 0;
  for (QueryRun& run : runs) {
    const KeyRange near = near_keys(run, window);
    for (int64_t r = run.row; r < run.row + run.count; ++r) {
      Row& row = rows[static_cast<size_t>(r)];
      row = in_scratch(row, near);
    }
    run = in_scratch(run, near);
  }
}

}  // namespace orthros::cuda
