// Plans passes and their rows.
#include "cuda/layout/step_plan.hpp"

#include <algorithm>

namespace orthros::cuda {
namespace {

// How far one request has come.
struct Progress {
  std::vector<PlannedOutput> outputs;  // ascending by position
  size_t answered = 0;
  int64_t taken = 0;  // tokens
};

// Tiles over consecutive rows of one sequence, appended.
void add_tiles(std::vector<RowTile>& tiles, int64_t first, int64_t count, int32_t sequence,
               int64_t tile_rows) {
  for (int64_t row = 0; row < count; row += tile_rows) {
    const int64_t here = std::min(tile_rows, count - row);
    tiles.push_back({first + row, static_cast<int32_t>(here), sequence});
  }
}

}  // namespace

std::vector<std::vector<PassPart>> plan_passes(std::span<const Request> requests,
                                               const PassLimits& limits) {
  std::vector<Progress> all(requests.size());
  int64_t prediction = 0;
  for (size_t r = 0; r < requests.size(); ++r) {
    for (const int64_t position : requests[r].outputs) {
      all[r].outputs.push_back({position, prediction++});
    }
    std::stable_sort(
        all[r].outputs.begin(), all[r].outputs.end(),
        [](const PlannedOutput& a, const PlannedOutput& b) { return a.position < b.position; });
  }
  std::vector<std::vector<PassPart>> passes;
  while (true) {
    std::vector<PassPart> pass;
    int64_t tokens_left = limits.tokens;
    int64_t outputs_left = limits.outputs;
    bool unfinished = false;
    for (size_t r = 0; r < requests.size(); ++r) {
      const Request& request = requests[r];
      Progress& progress = all[r];
      const int64_t total = request.new_tokens();
      if (progress.taken == total && progress.answered == progress.outputs.size()) continue;
      unfinished = true;
      int64_t count = std::min(total - progress.taken, tokens_left);
      if (limits.chunk > 0) count = std::min(count, limits.chunk);
      PassPart part{r, progress.taken, progress.taken + count, {}};
      size_t next = progress.answered;
      while (next < progress.outputs.size() && outputs_left > 0 &&
             progress.outputs[next].position <= request.past + part.end) {
        part.outputs.push_back(progress.outputs[next++]);
        --outputs_left;
      }
      if (!limits.replays && next < progress.outputs.size()) {
        // What does not fit must be answered with its own token: that one waits, and so do those of
        // its outputs that were taken already.
        const int64_t waiting = progress.outputs[next].position;
        if (waiting <= request.past + part.end) {
          while (!part.outputs.empty() && part.outputs.back().position == waiting) {
            part.outputs.pop_back();
            ++outputs_left;
            --next;
          }
          part.end = waiting - 1 - request.past;
        }
      }
      if (part.end == part.begin && part.outputs.empty()) continue;
      progress.answered = next;
      progress.taken = part.end;
      tokens_left -= part.end - part.begin;
      pass.push_back(std::move(part));
    }
    if (!unfinished) return passes;
    if (pass.empty()) return {};
    passes.push_back(std::move(pass));
  }
}

StepPlan plan_step(std::span<const Request> requests, std::span<const PassPart> parts,
                   bool two_streams, int64_t tile_rows, bool array_positions) {
  StepPlan plan;
  for (const PassPart& part : parts) {
    const Request& request = requests[part.request];
    const auto first = static_cast<int64_t>(plan.rows.size());
    const int64_t count = part.end - part.begin;
    for (int64_t i = part.begin; i < part.end; ++i) {
      const int64_t place = request.past + i;
      plan.tokens.push_back(static_cast<int32_t>(request.tokens[static_cast<size_t>(place)]));
      plan.rows.push_back({place, request.sequence, 0});
    }
    if (count > 0) {
      plan.runs.push_back({first, request.past + part.begin, count, request.sequence, 0});
    }
    add_tiles(plan.base_tiles, first, count, request.sequence, tile_rows);
  }
  plan.base_rows = static_cast<int64_t>(plan.rows.size());
  for (const PassPart& part : parts) {
    const Request& request = requests[part.request];
    const auto first = static_cast<int64_t>(plan.live_rows.size());
    int64_t base_row = 0;  // the part's first
    for (const QueryRun& run : plan.runs) {
      if (run.sequence == request.sequence) base_row = run.row;
    }
    for (const PlannedOutput& output : part.outputs) {
      const int64_t place = output.position - 1;
      plan.predictions.push_back(output.prediction);
      if (two_streams) {
        const auto index = static_cast<int64_t>(plan.rows.size());
        const int64_t last = request.past + part.end - 1;  // the fault stays within the cache
        const Row row{array_positions ? std::min(index, last) : place, request.sequence, 1};
        plan.live_sources.push_back(static_cast<int32_t>(index));
        plan.tokens.push_back(static_cast<int32_t>(request.tokens[static_cast<size_t>(place)]));
        plan.live_rows.push_back(row);
        plan.rows.push_back(row);
        continue;
      }
      const int64_t source = base_row + place - request.past - part.begin;
      plan.live_sources.push_back(static_cast<int32_t>(source));
      plan.live_rows.push_back(plan.rows[static_cast<size_t>(source)]);
    }
    add_tiles(plan.live_tiles, first, static_cast<int64_t>(part.outputs.size()), request.sequence,
              tile_rows);
  }
  return plan;
}

}  // namespace orthros::cuda
