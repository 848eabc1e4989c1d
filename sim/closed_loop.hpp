// A server under closed-loop load: c clients that each wait for their answer, then ask again.
#pragma once

#include <cstdint>

#include "sim/step_cost.hpp"

namespace orthros {

struct ClosedLoop {
  int64_t clients = 1;
  int64_t input = 1;  // tokens, the same for all
  int64_t output = 1;
};

// Means over requests, as a client sees them: seconds.
struct ClosedLoopTimes {
  double ttft_s = 0.0;
  double tpot_s = 0.0;  // 0 where output is 1
  double e2e_s = 0.0;
};

// Simulates events, not tokens: all clients ask at once; prompts are prefilled whole, as many as
// the token budget holds, in one step with the decoding sequences; a slot is free again when its
// sequence's last token is made; the front end streams tokens one after another, and a client asks
// again when its last one arrives. Means weigh the first burst by burst_share against the two
// rounds after it. Throws InputError for numbers below 1.
ClosedLoopTimes closed_loop(const StepCost& cost, const ServingSoftware& serving,
                            const ClosedLoop& load);

}  // namespace orthros
