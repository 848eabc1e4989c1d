// Drives an engine through a case's sequences and records what it does.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/check/record.hpp"
#include "cuda/engine/engine.hpp"

namespace orthros::cuda {

// Lengths that each sequence shall reach.
using Lengths = std::vector<int64_t>;
using Positions = std::vector<int64_t>;

Lengths prompt_lengths(std::span<const SequencePlan> plans);
Lengths whole_lengths(std::span<const SequencePlan> plans);

// One run from empty caches. What the engine has not written holds NaN.
class EngineDriver {
 public:
  // Sequence i lives in slot `first_slot` + i. Resets and poisons the engine.
  EngineDriver(Runner& engine, std::span<const SequencePlan> plans, int64_t first_slot = 0);

  // Appends each sequence's tokens up to `until`, predicting at `outputs`, a list a sequence.
  void prefill(const Lengths& until, const std::vector<Positions>& outputs, int64_t chunk = 0);
  // The same, predicting at those of the plans' outputs that it passes.
  void prefill(const Lengths& until, int64_t chunk = 0);
  // Decode steps, all sequences together, until each has reached `until`. What is predicted at the
  // plans' outputs is recorded.
  void decode(const Lengths& until, Launch launch);
  void truncate(const Lengths& lengths);

  // What was predicted since the start, and the caches as they are now.
  RunRecord record() const;
  int64_t slot(size_t sequence) const { return first_slot_ + static_cast<int64_t>(sequence); }

 private:
  int64_t length(size_t sequence) const { return engine_.length(slot(sequence)); }
  void keep(size_t sequence, int64_t position, Prediction prediction);

  Runner& engine_;
  std::span<const SequencePlan> plans_;
  int64_t first_slot_;
  RunRecord record_;
};

}  // namespace orthros::cuda
