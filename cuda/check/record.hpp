// What a run leaves behind, whoever ran it: the engine or the reference.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/layout/rows.hpp"

namespace orthros::cuda {

// One sequence: logits where it predicted, and its caches.
struct SequenceRecord {
  std::vector<int64_t> positions;                    // from 1
  std::vector<std::vector<float>> logits;            // one for each of them: vocab
  std::vector<int64_t> predicted;                    // one for each: the largest logit's id
  std::vector<std::vector<bf16_bits>> keys, values;  // one for each layer: length x Hkv d
};
using RunRecord = std::vector<SequenceRecord>;

// The ids a sequence holds, where its prompt ends, and where it predicts.
struct SequencePlan {
  std::vector<int64_t> tokens;
  int64_t prompt = 0;  // tokens of the prompt; decode steps bring the others
  std::vector<int64_t>
      outputs;  // positions from 1, ascending, each once; every one from `prompt` on

  int64_t length() const { return static_cast<int64_t>(tokens.size()); }
};

}  // namespace orthros::cuda
