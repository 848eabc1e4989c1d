// Reduces request records to means and percentiles.
#include "sim/serve/summary.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace orthros {
namespace {

// values is sorted.
double percentile(const std::vector<double>& values, double p) {
  const double at = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

Distribution distribution(std::vector<double> values) {
  if (values.empty()) return {};
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  std::sort(values.begin(), values.end());
  return {sum / static_cast<double>(values.size()), percentile(values, 0.5),
          percentile(values, 0.9), percentile(values, 0.95), percentile(values, 0.99)};
}

bool meets(const RequestRecord& record, const Slo& slo) {
  const std::optional<double> tpot = tpot_of(record);
  return (!slo.ttft_s || record.first_token_s - record.arrival_s <= *slo.ttft_s) &&
         (!slo.tpot_s || !tpot || *tpot <= *slo.tpot_s);
}

}  // namespace

std::optional<double> tpot_of(const RequestRecord& record) {
  if (record.output < 2) return std::nullopt;
  return (record.finish_s - record.first_token_s) / static_cast<double>(record.output - 1);
}

ServeSummary summary_of(const ServeResult& result, const Slo& slo, double dollars_per_gpu_hour) {
  constexpr double seconds_per_hour = 3600.0;
  constexpr double million = 1e6;
  ServeSummary summary;
  summary.requests = static_cast<int64_t>(result.requests.size());
  summary.completed = result.completed;
  summary.rejected = summary.requests - summary.completed;
  summary.duration_s = result.duration_s();
  std::vector<double> wait, ttft, tpot, e2e;
  for (auto* values : {&wait, &ttft, &tpot, &e2e}) {
    values->reserve(static_cast<size_t>(result.completed));
  }
  int64_t good = 0;
  for (const RequestRecord& record : result.requests) {
    if (record.status != RequestRecord::Status::completed) continue;
    summary.input_tokens += record.input;
    summary.output_tokens += record.output;
    wait.push_back(record.admitted_s - record.arrival_s);
    ttft.push_back(record.first_token_s - record.arrival_s);
    if (const auto time = tpot_of(record)) tpot.push_back(*time);
    e2e.push_back(record.finish_s - record.arrival_s);
    if (meets(record, slo)) ++good;
  }
  summary.wait_s = distribution(std::move(wait));
  summary.ttft_s = distribution(std::move(ttft));
  summary.tpot_s = distribution(std::move(tpot));
  summary.e2e_s = distribution(std::move(e2e));
  const GapHistogram& gaps = result.gaps;
  summary.itl_s = {gaps.mean(), gaps.quantile(0.5), gaps.quantile(0.9), gaps.quantile(0.95),
                   gaps.quantile(0.99)};
  summary.gpu_seconds = static_cast<double>(result.gpus) * summary.duration_s;
  summary.dollars = summary.gpu_seconds * dollars_per_gpu_hour / seconds_per_hour;
  if (summary.duration_s > 0.0) {
    summary.output_tokens_per_s = static_cast<double>(summary.output_tokens) / summary.duration_s;
    summary.goodput_rps = static_cast<double>(good) / summary.duration_s;
    const double engine_seconds = static_cast<double>(result.engines) * summary.duration_s;
    summary.utilisation = result.busy_s / engine_seconds;
    summary.queued = result.queued_s / engine_seconds;
    summary.mean_in_flight = result.in_flight_s / summary.duration_s;
    summary.mean_waiting = result.waiting_s / summary.duration_s;
  }
  if (summary.output_tokens > 0) {
    summary.dollars_per_million_output_tokens =
        summary.dollars / static_cast<double>(summary.output_tokens) * million;
  }
  if (summary.completed > 0) {
    summary.dollars_per_million_tokens =
        summary.dollars / static_cast<double>(summary.input_tokens + summary.output_tokens) *
        million;
  }
  return summary;
}

}  // namespace orthros
