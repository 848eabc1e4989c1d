// Window attention's tiles: every query in exactly one, with all of its keys, in one block's share.
#include "cuda/layout/window_tiles.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <tuple>
#include <vector>

namespace orthros::cuda {
namespace {

int64_t draw_group() {
  return *rc::gen::element<int64_t>(1, 2, 4, 8, 16).as("group");
}

std::vector<QueryRun> draw_runs() {
  const auto count = *rc::gen::inRange<int32_t>(1, 8).as("runs");
  std::vector<QueryRun> runs;
  int64_t row = 0;
  for (int32_t i = 0; i < count; ++i) {
    const auto position = *rc::gen::oneOf(rc::gen::inRange<int64_t>(0, 300),
                                          rc::gen::element<int64_t>(0, 1, 15, 16, 127, 128, 1000))
                               .as("position");
    const auto length = *rc::gen::oneOf(rc::gen::inRange<int64_t>(0, 200),
                                        rc::gen::element<int64_t>(1, 15, 16, 17, 64))
                             .as("count");
    runs.push_back({row, position, length, i, 0});
    row += length;
  }
  return runs;
}

int64_t tiles_of_all(const std::vector<QueryRun>& runs, int32_t heads, int32_t positions) {
  int64_t all = 0;
  for (const QueryRun& run : runs) all += tiles_of(run, positions).size() * heads;
  return all;
}

RC_GTEST_PROP(window_tiles, a_tile_has_at_most_64_rows_and_stays_in_one_key_block, ()) {
  const int64_t group = draw_group();
  const int32_t positions = window_tile_positions(group);
  RC_ASSERT(positions * group <= window_tile_rows);
  const auto tile = *rc::gen::inRange<int64_t>(0, 1 << 20).as("tile");
  const int64_t first = tile * positions;
  RC_ASSERT(first / window_key_block == (first + positions - 1) / window_key_block);
  RC_ASSERT(key_block_of(tile, positions) == first / window_key_block);
}

RC_GTEST_PROP(window_tiles, nine_key_blocks_hold_every_key_that_a_tile_sees, ()) {
  const int32_t positions = window_tile_positions(draw_group());
  const auto tile = *rc::gen::inRange<int64_t>(0, 1 << 20).as("tile");
  const auto window = *rc::gen::inRange<int64_t>(1, most_window + 1).as("window");
  const int64_t end = (int64_t{key_block_of(tile, positions)} + 1) * window_key_block;
  const int64_t begin = end - window_blocks * window_key_block;
  for (int64_t position = tile * positions; position < (tile + 1) * positions; ++position) {
    RC_ASSERT(position - window + 1 >= begin);
    RC_ASSERT(position < end);
  }
}

RC_GTEST_PROP(window_tiles, the_widest_window_sees_of_its_own_block_what_it_misses_of_the_first,
              ()) {
  const auto position = *rc::gen::inRange<int64_t>(most_window, 1 << 20).as("position");
  const int64_t own = position / window_key_block * window_key_block;
  const int64_t first = own - (window_blocks - 1) * window_key_block;
  const auto sees = [&](int64_t key) { return key <= position && position - key < most_window; };
  for (int64_t i = 0; i < window_key_block; ++i) RC_ASSERT(sees(own + i) != sees(first + i));
  for (int64_t key = first + window_key_block; key < own; ++key) RC_ASSERT(sees(key));
}

RC_GTEST_PROP(window_tiles, shares_together_hold_every_tile_once_in_order, ()) {
  const auto tiles = *rc::gen::inRange<int64_t>(0, 3000).as("tiles");
  const auto parts = *rc::gen::inRange<int64_t>(1, 200).as("parts");
  int64_t next = 0;
  for (int64_t part = 0; part < parts; ++part) {
    const TileRange share = share_of(tiles, part, parts);
    RC_ASSERT(share.first == next);
    RC_ASSERT(share.size() >= tiles / parts && share.size() <= tiles / parts + 1);
    next = share.end;
  }
  RC_ASSERT(next == tiles);
}

RC_GTEST_PROP(window_tiles, blocks_together_visit_every_query_of_every_head_once, ()) {
  const int32_t positions = window_tile_positions(draw_group());
  const auto heads = *rc::gen::inRange<int32_t>(1, 9).as("heads");
  const auto blocks = *rc::gen::inRange<int64_t>(1, 40).as("blocks");
  const std::vector<QueryRun> runs = draw_runs();
  std::map<std::tuple<int64_t, int32_t, int64_t>, int> visits;
  for (int64_t block = 0; block < blocks; ++block) {
    SegmentWalk walk(runs.data(), heads, positions,
                     share_of(tiles_of_all(runs, heads, positions), block, blocks));
    TileSegment segment;
    while (walk.next(segment)) {
      const QueryRun& run = runs[static_cast<size_t>(segment.run)];
      RC_ASSERT(segment.head >= 0 && segment.head < heads);
      RC_ASSERT(segment.tiles.size() > 0);
      for (int64_t tile = segment.tiles.first; tile < segment.tiles.end; ++tile) {
        const auto position = static_cast<int32_t>(tile * positions);
        const TilePart part = part_in_run(position, positions, static_cast<int32_t>(run.position),
                                          static_cast<int32_t>(run.position + run.count));
        RC_ASSERT(part.first < part.end && part.end <= positions);
        for (int32_t i = part.first; i < part.end; ++i) {
          ++visits[{segment.run, segment.head, position + i}];
        }
      }
    }
  }
  int64_t expected = 0;
  for (const QueryRun& run : runs) {
    for (int64_t i = 0; i < run.count * heads; ++i) {
      const auto head = static_cast<int32_t>(i / run.count);
      const std::tuple key{int64_t{run.sequence}, head, run.position + i % run.count};
      RC_ASSERT(visits[key] == 1);
    }
    expected += run.count * heads;
  }
  RC_ASSERT(static_cast<int64_t>(visits.size()) == expected);
}

RC_GTEST_PROP(window_tiles, a_walk_may_begin_at_the_run_that_holds_its_share, ()) {
  const int32_t positions = window_tile_positions(draw_group());
  const auto heads = *rc::gen::inRange<int32_t>(1, 9).as("heads");
  const std::vector<QueryRun> runs = draw_runs();
  const int64_t all = tiles_of_all(runs, heads, positions);
  const auto first = *rc::gen::inRange<int64_t>(0, all + 1).as("first");
  int64_t run = 0;
  int64_t start = 0;
  while (run + 1 < static_cast<int64_t>(runs.size())) {
    const int64_t here = tiles_of(runs[static_cast<size_t>(run)], positions).size() * heads;
    if (start + here > first) break;
    start += here;
    ++run;
  }
  SegmentWalk from_start(runs.data(), heads, positions, {first, all});
  SegmentWalk from_there(runs.data(), heads, positions, {first, all}, run, start);
  TileSegment one;
  TileSegment other;
  for (bool more = true; more;) {
    more = from_start.next(one);
    RC_ASSERT(from_there.next(other) == more);
    if (!more) break;
    RC_ASSERT(one.run == other.run && one.head == other.head);
    RC_ASSERT(one.tiles.first == other.tiles.first && one.tiles.end == other.tiles.end);
  }
}

}  // namespace
}  // namespace orthros::cuda
