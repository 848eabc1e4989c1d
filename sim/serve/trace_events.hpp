// TraceEvents: what happened in a simulation, for chrome://tracing and Perfetto.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/serve/serve.hpp"

namespace orthros {

// Keeps the first runs of steps as an observer, so that memory is bounded.
class RunLog : public ServeObserver {
 public:
  static constexpr size_t most_runs = 500'000;

  void run_ended(const RunRecord& run) override;
  const std::vector<RunRecord>& runs() const { return runs_; }
  bool complete() const { return complete_; }

 private:
  std::vector<RunRecord> runs_;
  bool complete_ = true;
};

// Collects one architecture after another into one file in the Trace Event Format (JSON object
// form, microseconds): a process for the requests, with lanes in which each is a slice that holds
// its wait, prefill and decode, and one for each replica with its runs of steps and counters of
// cache, queue and batch. Requests that begin after the last kept run are left out.
class TraceEvents {
 public:
  void add(const std::string& name, const ServeResult& result, const RunLog& log);
  std::string json() const;

 private:
  void event(std::string text);
  void name_process(int64_t process, const std::string& name);
  void add_requests(int64_t process, const ServeResult& result, double until);

  std::string events_;
  int64_t next_process_ = 1;
};

}  // namespace orthros
