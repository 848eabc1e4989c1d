// ServeProgress: how far a simulated server has come with its prompts.
#pragma once

#include "reference/cli_support/progress.hpp"
#include "sim/serve/serve.hpp"

namespace orthros::cli {

// Counts prompt tokens computed in `progress`, then tells `next` where there is one.
class ServeProgress : public ServeObserver {
 public:
  ServeProgress(Progress& progress, ServeObserver* next) : progress_(progress), next_(next) {}

  void run_ended(const RunRecord& run) override {
    if (run.prefill_tokens > 0) progress_.add(run.prefill_tokens);
    if (next_ != nullptr) next_->run_ended(run);
  }

 private:
  Progress& progress_;
  ServeObserver* next_;
};

}  // namespace orthros::cli
