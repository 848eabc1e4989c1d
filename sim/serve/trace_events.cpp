// Writes slices and counters in the Trace Event Format.
#include "sim/serve/trace_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>

namespace orthros {
namespace {

constexpr double microseconds_per_second = 1e6;

std::string slice(const std::string& name, int64_t process, int64_t lane, double from, double to,
                  const std::string& arguments) {
  return fmt::format(
      R"({{"ph":"X","name":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{{}}}}})", name,
      process, lane, from * microseconds_per_second, (to - from) * microseconds_per_second,
      arguments);
}

std::string run_name(const RunRecord& run) {
  if (run.prefilling == 0) return fmt::format("decode {} x {} steps", run.decoding, run.steps);
  if (run.decoding == 0) return fmt::format("prefill {}", run.prefill_tokens);
  return fmt::format("prefill {} + decode {}", run.prefill_tokens, run.decoding);
}

}  // namespace

void RunLog::run_ended(const RunRecord& run) {
  if (runs_.size() < most_runs) {
    runs_.push_back(run);
  } else {
    complete_ = false;
  }
}

void TraceEvents::event(std::string text) {
  events_ += events_.empty() ? "\n" : ",\n";
  events_ += text;
}

void TraceEvents::name_process(int64_t process, const std::string& name) {
  event(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"{}"}}}})",
                    process, name));
}

void TraceEvents::add(const std::string& name, const ServeResult& result, const RunLog& log) {
  const double until = log.complete() || log.runs().empty()
                           ? std::numeric_limits<double>::infinity()
                           : log.runs().back().end_s;
  name_process(next_process_, name + ": requests");
  add_requests(next_process_, result, until);
  const int64_t first = next_process_ + 1;
  for (int64_t i = 0; i < result.engines; ++i) {
    name_process(first + i, fmt::format("{}: replica {}", name, i));
  }
  for (const RunRecord& run : log.runs()) {
    const int64_t process = first + run.replica;
    event(slice(run_name(run), process, 1, run.start_s, run.end_s,
                fmt::format(R"("steps":{},"decoding":{},"prompts":{},"prefill_tokens":{})",
                            run.steps, run.decoding, run.prefilling, run.prefill_tokens)));
    event(fmt::format(R"({{"ph":"C","name":"KV bytes","pid":{},"ts":{:.3f},)"
                      R"("args":{{"held":{},"cached":{}}}}})",
                      process, run.end_s * microseconds_per_second, run.kv_bytes,
                      run.cached_bytes));
    event(fmt::format(R"({{"ph":"C","name":"requests","pid":{},"ts":{:.3f},)"
                      R"("args":{{"running":{},"waiting":{}}}}})",
                      process, run.end_s * microseconds_per_second, run.decoding + run.prefilling,
                      run.waiting));
  }
  next_process_ = first + result.engines;
}

// Each request takes the first lane that is free when it arrives.
void TraceEvents::add_requests(int64_t process, const ServeResult& result, double until) {
  std::vector<size_t> order(result.requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return result.requests[a].arrival_s < result.requests[b].arrival_s;
  });
  using Busy = std::pair<double, int64_t>;  // until when, lane
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> free;
  int64_t lanes = 0;
  for (const size_t i : order) {
    const RequestRecord& r = result.requests[i];
    if (r.status != RequestRecord::Status::completed || r.arrival_s > until) continue;
    for (; !busy.empty() && busy.top().first <= r.arrival_s; busy.pop()) {
      free.push(busy.top().second);
    }
    if (free.empty()) free.push(++lanes);
    const int64_t lane = free.top();
    free.pop();
    busy.push({r.finish_s, lane});
    event(slice(fmt::format("request {}", i + 1), process, lane, r.arrival_s, r.finish_s,
                fmt::format(R"("input":{},"output":{},"cached":{},"preemptions":{},"replica":{})",
                            r.input, r.output, r.cached_tokens, r.preemptions, r.replica)));
    event(slice("wait", process, lane, r.arrival_s, r.admitted_s, ""));
    event(slice("prefill", process, lane, r.admitted_s, r.first_token_s, ""));
    event(slice("decode", process, lane, r.first_token_s, r.finish_s, ""));
  }
}

std::string TraceEvents::json() const {
  return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[" + events_ + "\n]}\n";
}

}  // namespace orthros
