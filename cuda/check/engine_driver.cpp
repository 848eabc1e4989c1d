// Prefills, decodes, truncates.
#include "cuda/check/engine_driver.hpp"

#include <algorithm>

namespace orthros::cuda {

Lengths prompt_lengths(std::span<const SequencePlan> plans) {
  Lengths lengths;
  for (const SequencePlan& plan : plans) lengths.push_back(plan.prompt);
  return lengths;
}

Lengths whole_lengths(std::span<const SequencePlan> plans) {
  Lengths lengths;
  for (const SequencePlan& plan : plans) lengths.push_back(plan.length());
  return lengths;
}

EngineDriver::EngineDriver(Runner& engine, std::span<const SequencePlan> plans, int64_t first_slot)
    : engine_(engine), plans_(plans), first_slot_(first_slot), record_(plans.size()) {
  engine_.reset();
  engine_.poison();
}

void EngineDriver::keep(size_t sequence, int64_t position, Prediction prediction) {
  SequenceRecord& record = record_[sequence];
  record.positions.push_back(position);
  record.logits.push_back(std::move(prediction.logits));
  record.predicted.push_back(prediction.token);
}

void EngineDriver::prefill(const Lengths& until, const std::vector<Positions>& outputs,
                           int64_t chunk) {
  std::vector<Prompt> prompts;
  std::vector<size_t> of_prompt;
  for (size_t s = 0; s < plans_.size(); ++s) {
    const int64_t from = length(s);
    if (from >= until[s] && outputs[s].empty()) continue;
    const auto begin = plans_[s].tokens.begin();
    prompts.push_back({slot(s), {begin + from, begin + until[s]}, outputs[s]});
    of_prompt.push_back(s);
  }
  std::vector<Prediction> predictions = engine_.prefill(prompts, Want::logits, chunk);
  size_t next = 0;
  for (size_t p = 0; p < prompts.size(); ++p) {
    for (const int64_t position : prompts[p].outputs) {
      keep(of_prompt[p], position, std::move(predictions.at(next++)));
    }
  }
}

void EngineDriver::prefill(const Lengths& until, int64_t chunk) {
  std::vector<Positions> outputs(plans_.size());
  for (size_t s = 0; s < plans_.size(); ++s) {
    for (const int64_t position : plans_[s].outputs) {
      if (position > length(s) && position <= until[s]) outputs[s].push_back(position);
    }
  }
  prefill(until, outputs, chunk);
}

void EngineDriver::decode(const Lengths& until, Launch launch) {
  while (true) {
    std::vector<NextToken> tokens;
    std::vector<size_t> of_token;
    for (size_t s = 0; s < plans_.size(); ++s) {
      const int64_t from = length(s);
      if (from >= until[s]) continue;
      tokens.push_back({slot(s), plans_[s].tokens[static_cast<size_t>(from)]});
      of_token.push_back(s);
    }
    if (tokens.empty()) return;
    std::vector<Prediction> predictions = engine_.decode(tokens, Want::logits, launch);
    for (size_t i = 0; i < tokens.size(); ++i) {
      const size_t s = of_token[i];
      const auto& outputs = plans_[s].outputs;
      if (std::binary_search(outputs.begin(), outputs.end(), length(s))) {
        keep(s, length(s), std::move(predictions.at(i)));
      }
    }
  }
}

void EngineDriver::truncate(const Lengths& lengths) {
  for (size_t s = 0; s < plans_.size(); ++s) engine_.truncate(slot(s), lengths[s]);
  engine_.poison();
}

RunRecord EngineDriver::record() const {
  RunRecord result = record_;
  const auto layers = static_cast<int64_t>(engine_.spec().layers.size());
  for (size_t s = 0; s < plans_.size(); ++s) {
    for (int64_t layer = 0; layer < layers; ++layer) {
      result[s].keys.push_back(engine_.keys(layer, slot(s)));
      result[s].values.push_back(engine_.values(layer, slot(s)));
    }
  }
  return result;
}

}  // namespace orthros::cuda
