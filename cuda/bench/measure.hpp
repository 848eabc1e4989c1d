// What a prompt and its answer take on an engine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cuda/engine/engine.hpp"

namespace orthros::cuda {

struct Load {
  int64_t batch = 1;
  int64_t input = 0;     // tokens of each sequence
  int64_t output = 1;    // of each: one from prefill, the rest from decode steps
  int64_t chunk = 0;     // rows of a pass
  bool prefills = true;  // else the answer begins over random cache entries
};

// Medians over repeats, in seconds; events on the engine's stream.
struct Measured {
  double ttft = 0.0;         // from the prompts to the whole batch's first tokens
  double decode_step = 0.0;  // mean of the output - 1 steps
  double end_to_end = 0.0;
  int repeats = 0;
};

// Random prompts of the load's batch.
std::vector<Prompt> random_prompts(const ModelSpec& spec, const Load& load);

// Each sequence's first predicted token, to decode from.
std::vector<NextToken> next_tokens(const std::vector<Prediction>& predictions);

// Runs a load as short as it gets while every kernel of the long one runs; ends with a reset.
void warm_up(Runner& engine, const Load& load);

// Warms up, then runs the load `repeats` times (once where that takes long).
Measured measure(Runner& engine, const Load& load, int repeats);

// Seconds of one decode step at `n` keys, over random cache entries: median over runs of `steps`
// replays that end there.
double decode_step_seconds(Runner& engine, int64_t batch, int64_t n, int64_t steps);

struct OpTime {
  std::string name;
  int64_t launches = 0;  // of the op; some are several kernels
  double seconds = 0.0;
};
// Ops of the load's prefill and of the decode step behind it, launched one by one with an event
// between them (which costs each a microsecond or two). `whole`, unless null and with a prefill:
// what the very same run took; its decode steps come as one graph before the one that is looked
// into.
struct OpTimes {
  std::vector<OpTime> prefill;
  std::vector<OpTime> decode;
};
OpTimes time_ops(Runner& engine, const Load& load, Measured* whole = nullptr);

}  // namespace orthros::cuda
