// Which keys attention kernels read, and where they stand, against brute force.
#include "cuda/layout/key_ranges.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace orthros::cuda {
namespace {

int64_t draw_position() {
  return *rc::gen::oneOf(rc::gen::inRange<int64_t>(0, 5000),
                         rc::gen::element<int64_t>(0, 15, 16, 127, 128, 129, 511, 512, 513, 4095,
                                                   4096, 4097, 1048575))
              .as("position");
}

// A base row sees key j where j is no later and fewer than `window` earlier; 0: every one.
bool sees(int64_t position, int64_t window, int64_t j) {
  return j <= position && (window == 0 || position - j < window);
}

RC_GTEST_PROP(key_ranges, a_base_row_sees_itself_and_what_its_window_reaches, ()) {
  const int64_t position = draw_position();
  const auto window =
      *rc::gen::element<int64_t>(0, 1, 2, 7, 16, 127, 128, 129, 512, 4096, 1 << 21).as("window");
  const KeyRange range = window_range(position, window);
  RC_ASSERT(range.begin == first_visible(position, window));
  RC_ASSERT(range.begin >= 0);
  RC_ASSERT(sees(position, window, range.begin));
  RC_ASSERT(sees(position, window, range.end - 1));
  RC_ASSERT(range.begin == 0 || !sees(position, window, range.begin - 1));
  RC_ASSERT(!sees(position, window, range.end));
}

RC_GTEST_PROP(key_ranges, blocks_of_a_range_are_those_that_hold_one_of_its_keys, ()) {
  const auto begin = *rc::gen::inRange<int64_t>(0, 2000).as("begin");
  const auto end = *rc::gen::inRange<int64_t>(0, 2000).as("end");
  std::set<int64_t> blocks;
  for (int64_t j = begin; j < end; ++j) blocks.insert(j / 16);
  RC_ASSERT(block_count({begin, end}) == static_cast<int64_t>(blocks.size()));
  if (!blocks.empty()) RC_ASSERT(block_start(begin) == *blocks.begin() * 16);
}

RC_GTEST_PROP(key_ranges, every_key_lies_in_the_one_split_that_has_its_number, ()) {
  const auto keys = *rc::gen::inRange<int64_t>(0, 3000).as("keys");
  std::vector<int64_t> found(static_cast<size_t>(keys), -1);
  const int64_t splits = split_count(keys);
  for (int64_t s = 0; s < splits; ++s) {
    const KeyRange range = split_range(s, keys);
    RC_ASSERT(range.begin < range.end);
    RC_ASSERT(range.begin % 512 == 0);
    for (int64_t j = range.begin; j < range.end; ++j) {
      RC_ASSERT(found.at(static_cast<size_t>(j)) == -1);
      found[static_cast<size_t>(j)] = s;
    }
  }
  for (int64_t j = 0; j < keys; ++j) {
    RC_ASSERT(found[static_cast<size_t>(j)] == j / 512);
    RC_ASSERT(split_of(j) == j / 512);
  }
  const KeyRange past = split_range(splits + *rc::gen::inRange<int64_t>(0, 3), keys);
  RC_ASSERT(past.begin >= past.end);
}

RC_GTEST_PROP(key_ranges, entries_of_a_layer_fill_it_without_gap_or_overlap, ()) {
  const auto sequences = *rc::gen::inRange<int64_t>(1, 4).as("sequences");
  const auto heads = *rc::gen::inRange<int64_t>(1, 4).as("heads");
  const auto tokens = *rc::gen::inRange<int64_t>(1, 9).as("tokens");
  const auto width = *rc::gen::element<int64_t>(8, 16, 24).as("width");
  const bool heads_first = *rc::gen::arbitrary<bool>().as("heads before sequences");
  const int64_t head = tokens * width;
  std::set<int64_t> starts;
  for (int64_t s = 0; s < sequences; ++s) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t t = 0; t < tokens; ++t) {
        starts.insert(heads_first ? entry_offset(s, head, h, sequences * head, t, width)
                                  : entry_offset(s, heads * head, h, head, t, width));
      }
    }
  }
  RC_ASSERT(static_cast<int64_t>(starts.size()) == sequences * heads * tokens);
  int64_t expected = 0;
  for (const int64_t start : starts) {
    RC_ASSERT(start == expected);
    expected += width;
  }
}

TEST(key_ranges, an_offset_passes_two_to_the_31) {
  const int64_t tokens = 1'048'576;
  const int64_t width = 128;
  const int64_t head_stride = tokens * width;
  const int64_t sequence_stride = 8 * head_stride;
  EXPECT_EQ(2 * sequence_stride, int64_t{1} << 31);
  EXPECT_EQ(entry_offset(1, sequence_stride, 7, head_stride, tokens - 1, width) + width - 1,
            2'147'483'647);
  // One more sequence, and no 32-bit number holds it.
  EXPECT_EQ(entry_offset(2, sequence_stride, 7, head_stride, tokens - 1, width) + width - 1,
            3'221'225'471);
}

SplitWork draw_work() {
  const auto rows = *rc::gen::inRange<int64_t>(1, 7).as("rows");
  const auto windowed = *rc::gen::inRange<int64_t>(0, rows + 1).as("windowed rows");
  const auto heads = *rc::gen::inRange<int64_t>(1, 5).as("KV heads");
  const auto window = *rc::gen::element<int64_t>(1, 100, 128, 512, 513, 4096).as("window");
  return {windowed, rows, heads, window};
}

RC_GTEST_PROP(key_ranges, items_of_a_row_are_each_split_and_head_once_in_order_of_splits, ()) {
  const SplitWork work = draw_work();
  const auto splits = *rc::gen::inRange<int64_t>(1, 6).as("splits");
  std::set<std::pair<int64_t, int64_t>> found;
  int64_t last = 0;
  for (int64_t i = 0; i < splits * work.kv_heads; ++i) {
    const SplitItem item = split_item(work, 5, i);
    RC_ASSERT(item.row == 5);
    RC_ASSERT(item.kv_head >= 0 && item.kv_head < work.kv_heads);
    RC_ASSERT(item.split >= last && item.split < splits);
    RC_ASSERT(found.insert({item.kv_head, item.split}).second);
    last = item.split;
  }
}

RC_GTEST_PROP(key_ranges, each_window_has_one_item, ()) {
  const SplitWork work = draw_work();
  std::set<std::pair<int64_t, int64_t>> found;
  for (int64_t i = 0; i < window_items(work); ++i) {
    const SplitItem item = window_item(work, i);
    RC_ASSERT(item.split == -1);
    RC_ASSERT(item.row >= 0 && item.row < work.windowed_rows);
    RC_ASSERT(item.kv_head >= 0 && item.kv_head < work.kv_heads);
    RC_ASSERT(found.insert({item.row, item.kv_head}).second);
  }
  RC_ASSERT(static_cast<int64_t>(found.size()) == work.windowed_rows * work.kv_heads);
}

// How often the items of a pair of rows at one position bring a key that the copy, or the base row,
// sees in them.
struct Seen {
  std::vector<int> copy;
  std::vector<int> base;
};
Seen seen_of_pair(const SplitWork& work, int64_t position) {
  const auto keys = static_cast<size_t>(position + 1);
  Seen seen{std::vector<int>(keys), std::vector<int>(keys)};
  const auto count = [](std::vector<int>& of, KeyRange range) {
    for (int64_t j = range.begin; j < range.end; ++j) ++of.at(static_cast<size_t>(j));
  };
  const int64_t whole = lone_splits(work, position);
  for (int64_t s = 0; s < whole; ++s) count(seen.copy, split_range(s, position + 1));
  const KeyRange both = paired_range(position, work.window);
  const KeyRange window = window_range(position, work.window);
  if (work.paired) count(seen.copy, {std::max(both.begin, whole * 512), both.end});
  count(seen.base, window);
  return seen;
}

RC_GTEST_PROP(key_ranges, both_streams_see_each_of_their_keys_once, ()) {
  const int64_t position = *rc::gen::oneOf(rc::gen::inRange<int64_t>(0, 5000),
                                           rc::gen::element<int64_t>(511, 512, 513, 1023, 1024))
                                .as("position");
  const auto window =
      *rc::gen::oneOf(rc::gen::inRange<int64_t>(1, 498), rc::gen::element<int64_t>(128, 496, 497))
           .as("window");
  RC_ASSERT(streams_fit(window, *rc::gen::inRange<int64_t>(1, 5).as("group")));
  const bool paired = *rc::gen::arbitrary<bool>().as("paired");
  const Seen seen = seen_of_pair({1, 2, 1, window, paired}, position);
  for (int64_t j = 0; j <= position; ++j) {
    RC_ASSERT(seen.copy[static_cast<size_t>(j)] == 1);
    RC_ASSERT(seen.base[static_cast<size_t>(j)] == (sees(position, window, j) ? 1 : 0));
  }
}

RC_GTEST_PROP(key_ranges, a_paired_item_is_the_last_split_and_the_window_and_one_chunk, ()) {
  const auto position = *rc::gen::inRange<int64_t>(0, 5000).as("position");
  const auto window = *rc::gen::inRange<int64_t>(1, 498).as("window");
  const KeyRange range = paired_range(position, window);
  RC_ASSERT(range.begin % 16 == 0);
  RC_ASSERT(range.begin <= first_visible(position, window));
  RC_ASSERT(range.begin <= split_of(position) * 512);
  // No block that neither sees.
  RC_ASSERT(range.begin + 16 > std::min(first_visible(position, window), split_of(position) * 512));
  RC_ASSERT(range.end == position + 1);
  RC_ASSERT(range.end - range.begin <= 512);
}

TEST(key_ranges, streams_share_items_up_to_a_window_of_497_and_groups_of_4) {
  EXPECT_TRUE(streams_fit(497, 4));
  EXPECT_FALSE(streams_fit(498, 4));
  EXPECT_FALSE(streams_fit(128, 5));
  EXPECT_FALSE(streams_fit(0, 4));
}

RC_GTEST_PROP(key_ranges, partial_softmaxes_have_each_a_place, ()) {
  const auto rows = *rc::gen::inRange<int64_t>(1, 4).as("rows");
  const auto heads = *rc::gen::inRange<int64_t>(1, 6).as("query heads");
  const auto splits = *rc::gen::inRange<int64_t>(1, 6).as("splits");
  std::set<int64_t> places;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t s = 0; s < splits; ++s) places.insert(partial_offset(r, rows, h, splits, s));
    }
  }
  RC_ASSERT(static_cast<int64_t>(places.size()) == rows * heads * splits);
  RC_ASSERT(*places.begin() == 0);
  RC_ASSERT(*places.rbegin() == rows * heads * splits - 1);
}

RC_GTEST_PROP(key_ranges, tiles_come_in_the_order_of_the_passes_over_them, ()) {
  const auto tiles = *rc::gen::inRange(1, 60).as("tiles");
  const auto segment = *rc::gen::inRange(1, 9).as("tiles of a segment");
  const auto kept = *rc::gen::inRange(0, 9).as("segments whose maxima are kept");
  const TileSchedule schedule{tiles, segment, std::min(tiles, kept * segment)};
  std::vector<std::pair<int, bool>> expected;
  for (int t = 0; t < tiles; ++t) expected.push_back({t, false});
  for (int first = 0; first < tiles; first += segment) {
    const int last = std::min(tiles, first + segment);
    if (first >= kept * segment) {
      for (int t = first; t < last; ++t) expected.push_back({t, false});
    }
    for (int t = first; t < last; ++t) {
      expected.push_back({t, false});
      expected.push_back({t, true});
    }
  }
  RC_ASSERT(schedule.steps() == static_cast<int>(expected.size()));
  for (int i = 0; i < schedule.steps(); ++i) {
    const TileStep step = schedule.at(i);
    RC_ASSERT(std::make_pair(step.tile, step.values) == expected[static_cast<size_t>(i)]);
  }
}

}  // namespace
}  // namespace orthros::cuda
