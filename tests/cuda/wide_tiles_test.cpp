// wide_product's tiles, against brute force.
#include "cuda/layout/wide_tiles.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <utility>

namespace orthros::cuda {
namespace {

RC_GTEST_PROP(wide_tiles, cover_every_row_and_output_once, ()) {
  const auto rows = *rc::gen::inRange<int64_t>(1, 9000).as("rows");
  const auto outputs = *rc::gen::inRange<int64_t>(1, 9000).as("outputs");
  const auto band = *rc::gen::inRange<int32_t>(1, 20).as("band");
  const WideTiles tiles = wide_tiles(rows, outputs, band);
  RC_ASSERT(int64_t{tiles.rows} * wide_cluster * wide_rows >= rows);
  RC_ASSERT(int64_t{tiles.rows - 1} * wide_cluster * wide_rows < rows);
  RC_ASSERT(int64_t{tiles.outputs} * wide_outputs >= outputs);
  RC_ASSERT(int64_t{tiles.outputs - 1} * wide_outputs < outputs);
  std::set<std::pair<int32_t, int32_t>> found;
  for (int32_t i = 0; i < tiles.count(); ++i) {
    const WideTile tile = tiles.at(i);
    RC_ASSERT(tile.row >= 0 && tile.row < tiles.rows);
    RC_ASSERT(tile.output >= 0 && tile.output < tiles.outputs);
    RC_ASSERT(found.insert({tile.row, tile.output}).second);
  }
}

RC_GTEST_PROP(wide_tiles, finish_a_band_of_rows_before_the_next, ()) {
  const auto rows = *rc::gen::inRange<int64_t>(1, 9000).as("rows");
  const auto outputs = *rc::gen::inRange<int64_t>(1, 9000).as("outputs");
  const auto band = *rc::gen::inRange<int32_t>(1, 20).as("band");
  const WideTiles tiles = wide_tiles(rows, outputs, band);
  int32_t last = 0;
  for (int32_t i = 0; i < tiles.count(); ++i) {
    RC_ASSERT(tiles.at(i).row / band >= last);
    last = tiles.at(i).row / band;
  }
}

}  // namespace
}  // namespace orthros::cuda
