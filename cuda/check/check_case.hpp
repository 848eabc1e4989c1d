// A case of the check: a model, sequences, and the ways to run them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/check/record.hpp"
#include "reference/model/weight_source.hpp"
#include "reference/spec/model_spec.hpp"

namespace orthros::cuda {

// Where device and reference get the same weights from.
enum class WeightOrigin {
  drawn,      // both draw from the seed
  uploaded,   // the host draws, the device reads it
  read_back,  // the device draws, the reference reads it: large models
};

struct CheckCase {
  std::string name;
  ModelSpec spec;
  uint64_t seed = 0;
  WeightOrigin origin = WeightOrigin::drawn;
  std::shared_ptr<const WeightSource> weights;  // a checkpoint's, rounded to bf16; else by origin
  std::vector<SequencePlan> sequences;
  std::vector<int64_t> chunks;        // to prefill in, besides one shot
  int64_t pass_tokens = 0;            // EngineLimits::chunk; 0: all tokens of all sequences
  int64_t sequence_stride = 0;        // EngineLimits::sequence_stride
  bool token_by_token = false;        // also decode from the very first token
  bool errors = true;                 // also against double
  bool first_token_matters = false;   // field case 10
  std::vector<double> golden_logits;  // by an independent program, of weights not rounded
};

// "orthros, window 17, 2 layers, D 40, 6/2 heads x 24, F 88, vocab 101, ...; prompts 1 5, 6 steps".
std::string description(const CheckCase& check_case);

// Ids drawn from a seed.
std::vector<int64_t> random_tokens(const ModelSpec& spec, uint64_t seed, int64_t sequence,
                                   int64_t length);

// A sequence that predicts at all positions, or, where those are more than `most_outputs`, at the
// edges of windows, blocks and splits, and at each from the prompt's last on.
SequencePlan plan_sequence(const ModelSpec& spec, uint64_t seed, int64_t sequence, int64_t prompt,
                           int64_t steps, int64_t most_outputs = 150);

}  // namespace orthros::cuda
