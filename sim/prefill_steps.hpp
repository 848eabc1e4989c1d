// The steps of a prefill, over shards too.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "sim/prefill_passes.hpp"
#include "sim/shards.hpp"
#include "sim/step_cost.hpp"

namespace orthros {

// Calls `visit(deployment, pieces, times)` with the steps in which `batch` prompts of `input`
// tokens are prefilled. Shards that run their left context again: the passes of the rank that runs
// most, each as on a GPU alone, then one step in which every rank runs all prompts' output rows.
// Where ranks run in rounds, the chunks of a pass go round them in order, as
// cuda/layout/rounds.hpp has it; without passes they share the prompt out equally.
template <class Visit>
void for_each_prefill_step(const StepCost& cost, int64_t batch, int64_t input, const Visit& visit) {
  Deployment to = cost.deployment();
  to.rows_in_order = cost.timing().pass_tokens > 0;
  if (!runs_left_context(cost.model(), to)) {
    for_each_pass(
        batch, input, cost.pass_tokens(),
        [&](std::span<const PrefillChunk> pass, int64_t times) { visit(to, pass, times); });
    return;
  }
  const ShardRun run = longest_run(input, to.sequence_parallel, *cost.model().reach);
  Deployment alone = to;
  alone.sequence_parallel = 1;
  for_each_pass(batch, run.tokens, cost.timing().pass_tokens,
                [&](std::span<const PrefillChunk> pass, int64_t times) {
                  std::array<PrefillChunk, most_pieces> pieces;
                  std::transform(pass.begin(), pass.end(), pieces.begin(), [&](PrefillChunk piece) {
                    piece.prefix += run.from;
                    piece.logits = false;
                    return piece;
                  });
                  visit(alone, std::span<const PrefillChunk>(pieces.data(), pass.size()), times);
                });
  const PrefillChunk outputs{batch, input, 0, true};
  visit(to, std::span<const PrefillChunk>(&outputs, 1), int64_t{1});
}

}  // namespace orthros
