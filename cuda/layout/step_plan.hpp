// Which tokens and output positions go through the layers together, and where their rows stand.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/layout/rows.hpp"

namespace orthros::cuda {

// A sequence's share of a prefill: the tokens behind its first `past`, which are cached, and
// positions (from 1) to predict at.
struct Request {
  int32_t sequence = 0;
  int64_t past = 0;
  std::span<const int64_t> tokens;  // all of the sequence's, cached ones first
  std::span<const int64_t> outputs;

  int64_t new_tokens() const { return static_cast<int64_t>(tokens.size()) - past; }
};

struct PassLimits {
  int64_t tokens = 0;    // of all sequences in a pass
  int64_t outputs = 0;   // in a pass
  int64_t chunk = 0;     // of one sequence in a pass; 0: no bound
  bool replays = false;  // an output may come after the pass of its token: two streams
};

// An output position and which prediction of the whole prefill it is.
struct PlannedOutput {
  int64_t position;
  int64_t prediction;
};

// What one pass takes of one request: its new tokens [begin, end), and outputs, ascending.
struct PassPart {
  size_t request = 0;
  int64_t begin = 0;
  int64_t end = 0;
  std::vector<PlannedOutput> outputs;
};

// Cuts requests into passes, every sequence advancing in each; an output goes with its token's
// pass, or with a later one where there is no room and limits allow it. Predictions are numbered
// through the requests in order. Empty where one position alone has more outputs than a pass holds.
std::vector<std::vector<PassPart>> plan_passes(std::span<const Request> requests,
                                               const PassLimits& limits);

// Rows of a pass. Base rows come first, request by request; with two streams a copy for each output
// follows; with one stream predictions are read from base rows.
struct StepPlan {
  std::vector<int32_t> tokens;  // by row
  std::vector<Row> rows;
  int64_t base_rows = 0;
  std::vector<QueryRun> runs;         // base rows
  std::vector<RowTile> base_tiles;    // base rows, at most `tile_rows` each
  std::vector<int32_t> live_sources;  // the row that each prediction is read from
  std::vector<Row> live_rows;         // those rows' places
  std::vector<RowTile> live_tiles;    // over live_rows
  std::vector<int64_t> predictions;   // which prediction each live row is
};

// `two_streams`: whether outputs have copies. `array_positions`: the fault index_as_position.
StepPlan plan_step(std::span<const Request> requests, std::span<const PassPart> parts,
                   bool two_streams, int64_t tile_rows, bool array_positions = false);

}  // namespace orthros::cuda
