// What a served workload comes to: latencies by percentile, throughput, cost.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/serve/serve.hpp"

namespace orthros {

// Absent where no request has the figure. Percentiles between two requests are interpolated.
struct Distribution {
  std::optional<double> mean, p50, p90, p95, p99;
};

// A request meets the objectives given; one without a time per output token cannot miss it.
struct Slo {
  std::optional<double> ttft_s, tpot_s;
};

struct ServeSummary {
  int64_t requests = 0;
  int64_t completed = 0;
  int64_t rejected = 0;
  int64_t input_tokens = 0;  // of completed requests
  int64_t output_tokens = 0;
  double duration_s = 0.0;  // first arrival to last completion
  Distribution wait_s;      // arrival to admission
  Distribution ttft_s;      // arrival to first token; the end of prefill where none is asked for
  Distribution tpot_s;      // (end to end - TTFT) / (output - 1) of requests with 2 tokens and more
  Distribution itl_s;       // between consecutive tokens, each gap of each request
  Distribution e2e_s;
  std::optional<double> output_tokens_per_s;
  std::optional<double> goodput_rps;  // completed requests that meet the SLO, a second
  double utilisation = 0.0;           // share of time that engines are in a step
  double queued = 0.0;                // share of time that requests wait, mean over engines
  std::optional<double> mean_in_flight;
  std::optional<double> mean_waiting;
  double gpu_seconds = 0.0;  // all GPUs, for the whole duration
  double dollars = 0.0;
  std::optional<double> dollars_per_million_output_tokens;
  std::optional<double> dollars_per_million_tokens;  // input and output
};

ServeSummary summary_of(const ServeResult& result, const Slo& slo, double dollars_per_gpu_hour);

// TPOT of one request: absent below 2 output tokens.
std::optional<double> tpot_of(const RequestRecord& record);

// Utilisation above which waits depend on how the last few per cent are modelled.
constexpr double trusted_utilisation = 0.9;

}  // namespace orthros
