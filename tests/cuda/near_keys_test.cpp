// Runs in the scratch cache: the same keys, in the same blocks, within the room there is.
#include "cuda/layout/near_keys.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace orthros::cuda {
namespace {

RC_GTEST_PROP(near_keys, rows_see_the_same_keys_in_the_same_blocks_and_there_is_room_for_all, ()) {
  const auto window = *rc::gen::element<int64_t>(0, 1, 2, 15, 16, 17, 127, 128, 129, 600).as("w");
  const auto widest = window == 0 ? 0 : window + *rc::gen::element<int64_t>(0, 1, 300).as("more");
  const auto runs_count = *rc::gen::inRange<int32_t>(1, 5).as("runs");
  const auto chunk = *rc::gen::inRange<int64_t>(1, 300).as("chunk");
  std::vector<QueryRun> runs;
  std::vector<Row> rows;
  int64_t context = 0;
  for (int32_t i = 0; i < runs_count; ++i) {
    const auto position = *rc::gen::oneOf(rc::gen::inRange<int64_t>(0, 2000),
                                          rc::gen::element<int64_t>(0, 127, 128, 1 << 30))
                               .as("position");
    const auto count = *rc::gen::inRange<int64_t>(1, chunk + 1).as("count");
    runs.push_back({static_cast<int64_t>(rows.size()), position, count, 7 - i, 0});
    for (int64_t r = 0; r < count; ++r) rows.push_back({position + r, 7 - i, 0});
    context = std::max(context, position + count);
  }
  const Row copy{5, 3, 1};
  rows.push_back(copy);
  std::vector<QueryRun> placed = runs;
  std::vector<Row> placed_rows = rows;
  std::vector<RowTile> tiles = {{0, 1, runs[0].sequence}};
  place_in_scratch(placed, placed_rows, tiles, widest);
  RC_ASSERT(tiles[0].row == 0 && tiles[0].count == 1 && tiles[0].sequence == 0);
  for (size_t i = 0; i < runs.size(); ++i) {
    const KeyRange near = near_keys(runs[i], widest);
    RC_ASSERT(near.begin >= 0 && near.begin % hopper::block_keys == 0);
    RC_ASSERT(near.end - near.begin <= most_near_keys(widest, context, chunk));
    RC_ASSERT(placed[i].position + near.begin == runs[i].position);
    RC_ASSERT(placed[i].sequence == 0);
    RC_ASSERT(placed[i].row == runs[i].row && placed[i].count == runs[i].count);
    for (int64_t r = runs[i].row; r < runs[i].row + runs[i].count; ++r) {
      const Row& row = rows[static_cast<size_t>(r)];
      const Row& there = placed_rows[static_cast<size_t>(r)];
      RC_ASSERT(there.sequence == 0 && there.stream == row.stream);
      const KeyRange expected = window_range(row.position, window);
      const KeyRange actual = window_range(there.position, window);
      RC_ASSERT(actual.begin + near.begin == expected.begin);
      RC_ASSERT(actual.end + near.begin == expected.end);
      RC_ASSERT(actual.end <= near.end - near.begin);
    }
  }
  // A copy is not the scratch cache's.
  RC_ASSERT(placed_rows.back().position == copy.position);
  RC_ASSERT(placed_rows.back().sequence == copy.sequence);
}

}  // namespace
}  // namespace orthros::cuda
