// Runs a case in every way that must give the same bits, and against the reference.
#pragma once

#include <cstdint>

#include "cuda/check/check_case.hpp"
#include "cuda/check/engine_driver.hpp"
#include "cuda/check/findings.hpp"
#include "cuda/check/reference_run.hpp"

namespace orthros::cuda {

// Limits with room for every way that a case is run.
EngineLimits limits_of(const CheckCase& check_case);

// The promises on one case, by one engine.
class PromiseRun {
 public:
  PromiseRun(const CheckCase& check_case, Runner& engine, Findings& findings);

  // Prompts in one prefill, then decode steps by graph. What the others are compared with.
  const RunRecord& main_run();
  void against(const RunRecord& reference);
  // Each way in turn.
  void run_every_way();
  // Ids that the engine goes on with after the prompts, `steps` a sequence and one more: plans of
  // prompts and these ids, predicting from the prompts' last positions on.
  std::vector<SequencePlan> greedy_plans();
  // Field case 10: another first token changes the last logits.
  void first_token_matters();

 private:
  void add(const char* promise, const RunRecord& expected, const RunRecord& actual);
  void training_forward();
  void chunks();
  void token_by_token();
  void copies();
  void companions();
  void eager();
  void truncation();

  const CheckCase& case_;
  Runner& engine_;
  Findings& findings_;
  HeadShape shape_;
  std::span<const SequencePlan> plans_;
  Lengths prompts_, whole_;
  RunRecord main_;
};

// Engine, bf16 reference and double over the same sequences: the error rule, and ids where double
// is certain. `weights`: what the engine runs.
void check_errors(const CheckCase& check_case, const WeightSource& weights, const RunRecord& engine,
                  std::span<const SequencePlan> greedy, Findings& findings);

}  // namespace orthros::cuda
