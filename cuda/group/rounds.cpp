// ShardedEngine's prompts in rounds of chunks, in each layer of which keys come together.
#include <algorithm>
#include <utility>

#include "cuda/group/sharded_rank.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {

std::vector<Rounds> ShardedEngine::plan_prompt_rounds(std::span<const Prompt> prompts,
                                                      int64_t chunk) {
  const int64_t most = chunk > 0 ? std::min(chunk, limits_.chunk) : limits_.chunk;
  std::vector<Rounds> rounds;
  for (const Prompt& prompt : prompts) {
    const int64_t past = length(prompt.sequence);
    const int64_t end = past + static_cast<int64_t>(prompt.tokens.size());
    extend(prompt.sequence, end);
    rounds.push_back(plan_rounds(past, end, group_.ranks(), most));
  }
  return rounds;
}

// A rank's chunks of a prompt, and the predictions that fall into them.
void ShardedEngine::run_rounds(int32_t r, const Prompt& prompt, const Rounds& rounds, Want want,
                               std::span<Prediction> predictions) {
  Rank& own = rank(r);
  std::vector<int64_t> tokens = own.engine.tokens(prompt.sequence);
  tokens.insert(tokens.end(), prompt.tokens.begin(), prompt.tokens.end());
  const auto until = [&](int64_t end) {
    return std::span(std::as_const(tokens)).first(static_cast<size_t>(end));
  };
  for (const auto& round : rounds) {
    const KeyRange range = round[static_cast<size_t>(r)];
    own.keys->begin_round(own.engine.cache(), prompt.sequence, round, own.engine.stream());
    Prompt part{prompt.sequence, {tokens.begin() + range.begin, tokens.begin() + range.end}, {}};
    std::vector<size_t> asked;
    for (size_t i = 0; i < prompt.outputs.size(); ++i) {
      if (prompt.outputs[i] <= range.begin || prompt.outputs[i] > range.end) continue;
      asked.push_back(i);
      part.outputs.push_back(prompt.outputs[i]);
    }
    own.engine.assume(prompt.sequence, until(range.begin));
    if (part.tokens.empty()) {
      own.engine.share_keys();
    } else {
      if (static_cast<int64_t>(asked.size()) > std::max(limits_.outputs, limits_.sequences)) {
        throw InputError("outputs", "", "expected no more in a chunk than a pass may have");
      }
      std::vector<Prediction> here = own.engine.prefill(std::span(&part, 1), want);
      for (size_t i = 0; i < asked.size(); ++i) predictions[asked[i]] = std::move(here[i]);
    }
    own.engine.assume(prompt.sequence, until(round.back().end));
  }
  place(r, prompt.sequence);
}

}  // namespace orthros::cuda
