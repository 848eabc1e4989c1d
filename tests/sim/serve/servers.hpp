// Servers and workloads for the tests of serving.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "sim/serve/kv_layout.hpp"
#include "sim/serve/serve.hpp"
#include "tests/sim/specs.hpp"

namespace orthros::test {

inline StepCost step_cost(const char* architecture, const char* model = "qwen3-8b",
                          const char* profile = "sglang-triton-h100") {
  return StepCost(count_model(preset(model, architecture)), {}, load_profile(profile),
                  load_hardware("h100-sxm"));
}

// A config whose memory holds `tokens` tokens of one sequence.
inline ServeConfig config_for(const StepCost& cost, int64_t tokens, int64_t block_size = 16) {
  ServeConfig config;
  config.block_size = block_size;
  config.kv_budget = kv_layout(cost.model(), cost.deployment(), block_size).bytes(tokens);
  return config;
}

inline Workload equal_requests(int64_t count, int64_t input, int64_t output, double gap_s) {
  Workload workload;
  for (int64_t i = 0; i < count; ++i) {
    workload.requests.push_back({static_cast<double>(i) * gap_s, input, output, 0, 0});
  }
  return workload;
}

// Checks at every event what must always hold, and keeps what it sees.
class Watch : public ServeObserver {
 public:
  explicit Watch(const ServeConfig& config) : config_(config) {}

  void run_ended(const RunRecord& run) override {
    EXPECT_LE(run.kv_bytes + run.cached_bytes, config_.kv_budget);
    EXPECT_GE(run.cached_bytes, 0);
    EXPECT_GE(run.kv_bytes, 0);
    EXPECT_GE(run.start_s, ended_[run.replica]);  // one run at a time
    EXPECT_GE(run.end_s, run.start_s);
    EXPECT_GE(run.steps, 1);
    EXPECT_TRUE(run.prefilling == 0 || run.steps == 1);
    EXPECT_LE(run.decoding + run.prefilling, std::min(config_.max_batch, config_.token_budget));
    EXPECT_LE(run.decoding + run.prefill_tokens, config_.token_budget);
    EXPECT_GT(run.decoding + run.prefill_tokens, 0);
    ended_[run.replica] = run.end_s;
    runs.push_back(run);
  }

  std::vector<RunRecord> runs;

 private:
  ServeConfig config_;
  std::map<int64_t, double> ended_;
};

// Every request has one fate, in order of its life; tokens given equal tokens asked for: each
// token but a request's first ends a gap.
inline void expect_sound(const ServeResult& result, const Workload& workload) {
  ASSERT_EQ(result.requests.size(), workload.requests.size());
  int64_t completed = 0, gaps = 0, preemptions = 0;
  for (size_t i = 0; i < result.requests.size(); ++i) {
    const RequestRecord& record = result.requests[i];
    EXPECT_EQ(record.input, workload.requests[i].input);
    EXPECT_EQ(record.output, workload.requests[i].output);
    EXPECT_LE(record.arrival_s, record.admitted_s);
    EXPECT_LE(record.admitted_s, record.first_token_s);
    EXPECT_LE(record.first_token_s, record.finish_s);
    preemptions += record.preemptions;
    if (record.status != RequestRecord::Status::completed) continue;
    EXPECT_LE(record.finish_s, result.end_s);
    ++completed;
    gaps += std::max<int64_t>(record.output - 1, 0);
  }
  EXPECT_EQ(completed, result.completed);
  EXPECT_EQ(preemptions, result.preemptions);
  EXPECT_EQ(gaps, result.gaps.count());
}

}  // namespace orthros::test
