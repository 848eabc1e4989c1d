// How prompts that are prefilled together are cut into passes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>

#include "sim/ops.hpp"

namespace orthros {

constexpr size_t most_pieces = 3;  // of a pass

// Calls `visit` with the pieces of each pass of `batch` prompts of `input` tokens: prompts in
// order, `pass_tokens` tokens of them at a time, as cuda/layout/step_plan.hpp cuts them. A pass has
// at most three pieces: the rest of a prompt, whole prompts, the beginning of another.
template <class Visit>
void for_each_pass_in_order(int64_t batch, int64_t input, int64_t pass_tokens, const Visit& visit) {
  int64_t begun = 0;  // tokens of the prompt that is under way
  while (batch > 0) {
    std::array<PrefillChunk, most_pieces> pieces;
    size_t count = 0;
    int64_t left = pass_tokens;
    if (begun > 0) {
      const int64_t taken = std::min(left, input - begun);
      pieces[count++] = {1, begun, taken, begun + taken == input};
      left -= taken;
      begun = (begun + taken) % input;
      if (begun == 0) --batch;
    }
    if (const int64_t whole = std::min(batch, left / input); begun == 0 && whole > 0) {
      pieces[count++] = {whole, 0, input, true};
      left -= whole * input;
      batch -= whole;
    }
    if (begun == 0 && batch > 0 && left > 0) {
      pieces[count++] = {1, 0, left, false};
      begun = left;
    }
    visit(std::span<const PrefillChunk>(pieces.data(), count));
  }
}

// The same passes, each with how many times it occurs, and no more visits than a prompt has tokens:
// the cuts repeat where a pass ends with a prompt. pass_tokens 0: one pass.
template <class Visit>
void for_each_pass(int64_t batch, int64_t input, int64_t pass_tokens, const Visit& visit) {
  if (pass_tokens == 0) {
    const PrefillChunk whole{batch, 0, input, true};
    visit(std::span<const PrefillChunk>(&whole, 1), int64_t{1});
    return;
  }
  const int64_t period = pass_tokens / std::gcd(input, pass_tokens);  // prompts
  const auto visit_times = [&](int64_t prompts, int64_t times) {
    for_each_pass_in_order(prompts, input, pass_tokens,
                           [&](std::span<const PrefillChunk> pass) { visit(pass, times); });
  };
  if (batch >= period) visit_times(period, batch / period);
  visit_times(batch % period, 1);
}

}  // namespace orthros
