// How a prefill is cut into passes and rows: nothing lost, nothing twice, no limit passed.
#include "cuda/layout/step_plan.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace orthros::cuda {
namespace {

struct Drawn {
  std::vector<std::vector<int64_t>> tokens;
  std::vector<std::vector<int64_t>> outputs;
  std::vector<Request> requests;
  PassLimits limits;
};

Drawn draw(bool replays) {
  Drawn drawn;
  const int count = *rc::gen::inRange(1, 5).as("sequences");
  drawn.limits = {*rc::gen::inRange<int64_t>(1, 40).as("tokens in a pass"),
                  *rc::gen::inRange<int64_t>(1, 12).as("outputs in a pass"),
                  *rc::gen::inRange<int64_t>(0, 20).as("chunk"), replays};
  std::vector<int64_t> past;
  for (int s = 0; s < count; ++s) {
    past.push_back(*rc::gen::inRange<int64_t>(0, 30));
    const auto added = *rc::gen::inRange<int64_t>(0, 60);
    std::vector<int64_t> tokens(static_cast<size_t>(past.back() + added));
    std::iota(tokens.begin(), tokens.end(), 1000 * s);
    drawn.tokens.push_back(std::move(tokens));
    const int64_t first = replays ? 1 : past.back() + 1;
    const int64_t last = past.back() + added;
    std::vector<int64_t> outputs;
    if (last >= first) {
      // At one position at most as many as a pass holds.
      std::map<int64_t, int64_t> times;
      for (const int64_t position :
           *rc::gen::container<std::vector<int64_t>>(rc::gen::inRange(first, last + 1))) {
        if (++times[position] <= drawn.limits.outputs) outputs.push_back(position);
      }
    }
    drawn.outputs.push_back(std::move(outputs));
  }
  for (int s = 0; s < count; ++s) {
    const auto i = static_cast<size_t>(s);
    drawn.requests.push_back({s, past[i], drawn.tokens[i], drawn.outputs[i]});
  }
  return drawn;
}

RC_GTEST_PROP(step_plan, passes_take_every_token_once_and_in_order, (bool replays)) {
  const Drawn drawn = draw(replays);
  const auto passes = plan_passes(drawn.requests, drawn.limits);
  std::vector<int64_t> taken(drawn.requests.size());
  for (const auto& pass : passes) {
    int64_t tokens = 0;
    for (const PassPart& part : pass) {
      RC_ASSERT(part.begin == taken[part.request]);
      RC_ASSERT(part.end >= part.begin);
      if (drawn.limits.chunk > 0) RC_ASSERT(part.end - part.begin <= drawn.limits.chunk);
      taken[part.request] = part.end;
      tokens += part.end - part.begin;
    }
    RC_ASSERT(tokens <= drawn.limits.tokens);
  }
  for (size_t r = 0; r < taken.size(); ++r) RC_ASSERT(taken[r] == drawn.requests[r].new_tokens());
}

RC_GTEST_PROP(step_plan, passes_answer_every_output_once_when_its_token_is_there, (bool replays)) {
  const Drawn drawn = draw(replays);
  const auto passes = plan_passes(drawn.requests, drawn.limits);
  std::vector<int64_t> positions;  // by prediction
  for (const auto& outputs : drawn.outputs) {
    positions.insert(positions.end(), outputs.begin(), outputs.end());
  }
  std::vector<int> answered(positions.size());
  for (const auto& pass : passes) {
    int64_t outputs = 0;
    for (const PassPart& part : pass) {
      const Request& request = drawn.requests[part.request];
      for (const PlannedOutput& output : part.outputs) {
        const auto prediction = static_cast<size_t>(output.prediction);
        RC_ASSERT(output.position == positions[prediction]);
        RC_ASSERT(output.position <= request.past + part.end);
        if (!replays) RC_ASSERT(output.position > request.past + part.begin);
        ++answered[prediction];
        ++outputs;
      }
    }
    RC_ASSERT(outputs <= drawn.limits.outputs);
  }
  RC_ASSERT(std::all_of(answered.begin(), answered.end(), [](int times) { return times == 1; }));
}

RC_GTEST_PROP(step_plan, rows_stand_for_the_tokens_and_positions_they_name, (bool two_streams)) {
  const Drawn drawn = draw(two_streams);
  const int64_t tile_rows = *rc::gen::inRange<int64_t>(1, 9).as("tile rows");
  for (const auto& pass : plan_passes(drawn.requests, drawn.limits)) {
    const StepPlan plan = plan_step(drawn.requests, pass, two_streams, tile_rows);
    RC_ASSERT(plan.tokens.size() == plan.rows.size());
    for (size_t r = 0; r < plan.rows.size(); ++r) {
      const Row& row = plan.rows[r];
      const auto& tokens = drawn.tokens[static_cast<size_t>(row.sequence)];
      RC_ASSERT(plan.tokens[r] == tokens[static_cast<size_t>(row.position)]);
      RC_ASSERT(row.stream == (static_cast<int64_t>(r) < plan.base_rows ? 0 : 1));
    }
    size_t live = 0;
    for (const PassPart& part : pass) {
      for (const PlannedOutput& output : part.outputs) {
        RC_ASSERT(plan.predictions[live] == output.prediction);
        const Row& row = plan.live_rows[live];
        RC_ASSERT(row.position == output.position - 1);
        RC_ASSERT(row.sequence == drawn.requests[part.request].sequence);
        const auto source = static_cast<size_t>(plan.live_sources[live]);
        RC_ASSERT(plan.rows[source].position == row.position);
        RC_ASSERT(plan.rows[source].sequence == row.sequence);
        RC_ASSERT(plan.rows[source].stream == (two_streams ? 1 : 0));
        ++live;
      }
    }
    RC_ASSERT(live == plan.live_rows.size());
  }
}

void check_tiles(const std::vector<RowTile>& tiles, const std::vector<Row>& rows, int64_t count,
                 int64_t tile_rows) {
  int64_t next = 0;
  for (const RowTile& tile : tiles) {
    RC_ASSERT(tile.row == next);
    RC_ASSERT(tile.count >= 1);
    RC_ASSERT(tile.count <= tile_rows);
    for (int64_t r = tile.row; r < tile.row + tile.count; ++r) {
      const Row& row = rows[static_cast<size_t>(r)];
      RC_ASSERT(row.sequence == tile.sequence);
      if (r > tile.row) RC_ASSERT(rows[static_cast<size_t>(r - 1)].position <= row.position);
    }
    next += tile.count;
  }
  RC_ASSERT(next == count);
}

RC_GTEST_PROP(step_plan, tiles_and_runs_cover_their_rows_sequence_by_sequence, (bool two_streams)) {
  const Drawn drawn = draw(two_streams);
  const int64_t tile_rows = *rc::gen::inRange<int64_t>(1, 9).as("tile rows");
  for (const auto& pass : plan_passes(drawn.requests, drawn.limits)) {
    const StepPlan plan = plan_step(drawn.requests, pass, two_streams, tile_rows);
    check_tiles(plan.base_tiles, plan.rows, plan.base_rows, tile_rows);
    check_tiles(plan.live_tiles, plan.live_rows, static_cast<int64_t>(plan.live_rows.size()),
                tile_rows);
    int64_t next = 0;
    for (const QueryRun& run : plan.runs) {
      RC_ASSERT(run.row == next);
      for (int64_t i = 0; i < run.count; ++i) {
        const Row& row = plan.rows[static_cast<size_t>(run.row + i)];
        RC_ASSERT(row.sequence == run.sequence);
        RC_ASSERT(row.position == run.position + i);
      }
      next += run.count;
    }
    RC_ASSERT(next == plan.base_rows);
  }
}

TEST(step_plan, ragged_prompts_predict_from_the_rows_of_their_last_tokens) {
  // Lengths 3, 1, 4: packed rows 2, 3 and 7.
  const std::vector<std::vector<int64_t>> tokens{{1, 2, 3}, {4}, {5, 6, 7, 8}};
  const std::vector<std::vector<int64_t>> outputs{{3}, {1}, {4}};
  std::vector<Request> requests;
  for (int32_t s = 0; s < 3; ++s) {
    const auto i = static_cast<size_t>(s);
    requests.push_back({s, 0, tokens[i], outputs[i]});
  }
  const auto passes = plan_passes(requests, {100, 100, 0, false});
  ASSERT_EQ(passes.size(), 1u);
  const StepPlan plan = plan_step(requests, passes[0], false, 16);
  EXPECT_EQ(plan.live_sources, (std::vector<int32_t>{2, 3, 7}));
}

TEST(step_plan, more_outputs_at_one_position_than_a_pass_holds_are_refused) {
  const std::vector<int64_t> tokens{1, 2};
  const std::vector<int64_t> outputs{2, 2, 2};
  const std::vector<Request> requests{{0, 0, tokens, outputs}};
  EXPECT_TRUE(plan_passes(requests, {10, 2, 0, false}).empty());
  EXPECT_EQ(plan_passes(requests, {10, 2, 0, true}).size(), 2u);
}

}  // namespace
}  // namespace orthros::cuda
