// Writes the results of `serve` for people and as JSON.
#include "sim/cli/serve_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cli/cost_report.hpp"
#include "sim/cli/text_table.hpp"

namespace orthros::cli {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json distribution_json(const Distribution& d) {
  return {{"mean", or_null(d.mean)},
          {"p50", or_null(d.p50)},
          {"p90", or_null(d.p90)},
          {"p95", or_null(d.p95)},
          {"p99", or_null(d.p99)}};
}

std::string or_na(const std::optional<double>& value) {
  return value ? seconds_text(*value) : "n/a";
}

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{:.4g}", *value) : "n/a";
}

// A value from 0 to the largest, by how dark a character is.
std::string shaded(const std::vector<double>& values, double largest) {
  constexpr std::string_view shades = " .:-=+*#%@";
  constexpr size_t columns = 64;
  std::string line;
  const size_t n = values.size();
  for (size_t i = 0; i < std::min(columns, n); ++i) {
    const size_t from = i * n / std::min(columns, n);
    const size_t to = (i + 1) * n / std::min(columns, n);
    const double most = *std::max_element(values.begin() + static_cast<std::ptrdiff_t>(from),
                                          values.begin() + static_cast<std::ptrdiff_t>(to));
    const double share = largest > 0.0 ? std::clamp(most / largest, 0.0, 1.0) : 0.0;
    line += shades[static_cast<size_t>(share * static_cast<double>(shades.size() - 1) + 0.5)];
  }
  return line;
}

std::string occupancy_text(const ServeScenario& s) {
  double most_waiting = 1.0;
  for (const ServeOutcome& outcome : s.outcomes) {
    for (const double waiting : outcome.result.timeline.waiting) {
      most_waiting = std::max(most_waiting, waiting);
    }
  }
  std::string text = fmt::format(
      "over time, from light to dark: KV held (full: all of the budget), queue (full: {:.4g} "
      "requests)\n",
      most_waiting);
  for (const ServeOutcome& outcome : s.outcomes) {
    const Timeline& timeline = outcome.result.timeline;
    const double seconds = timeline.bucket_s * static_cast<double>(timeline.waiting.size());
    const double capacity = static_cast<double>(outcome.result.kv_capacity_bytes) *
                            static_cast<double>(outcome.result.engines);
    text += fmt::format("{:<14} KV    |{}| {}\n{:<14} queue |{}|\n", outcome.arch,
                        shaded(timeline.kv_bytes, capacity), seconds_text(seconds), "",
                        shaded(timeline.waiting, most_waiting));
  }
  return text;
}

}  // namespace

std::string engines_text(const ServeScenario& s) {
  const ServeConfig& config = s.question.config;
  const std::string engines =
      config.disaggregated()
          ? fmt::format("{} engines for prefill and {} for decode", config.prefill_replicas,
                        config.decode_replicas)
          : fmt::format("{} {}", config.replicas, config.replicas == 1 ? "engine" : "engines");
  return fmt::format("{} of {} {}, token budget {}, batch up to {}, KV blocks of {} tokens",
                     engines, s.deployment.gpus(), s.deployment.gpus() == 1 ? "GPU" : "GPUs",
                     config.token_budget, std::min(config.max_batch, config.token_budget),
                     config.block_size);
}

TextTable totals_table(const ServeScenario& s) {
  std::vector<std::string> header = {"figure"};
  for (const ServeOutcome& outcome : s.outcomes) header.push_back(outcome.arch);
  TextTable table(header);
  const auto add = [&](const char* name, auto figure) {
    std::vector<std::string> row = {name};
    for (const ServeOutcome& outcome : s.outcomes) {
      row.push_back(figure(outcome.summary, outcome.result));
    }
    table.add(std::move(row));
  };
  using Summary = const ServeSummary&;
  using Result = const ServeResult&;
  constexpr double seconds_per_hour = 3600.0;
  const auto bytes = [](int64_t n) { return bytes_text(static_cast<double>(n)); };
  add("completed", [](Summary u, Result) { return std::to_string(u.completed); });
  add("rejected", [](Summary u, Result) { return std::to_string(u.rejected); });
  add("output tokens a second", [](Summary u, Result) { return number(u.output_tokens_per_s); });
  add("good requests a second", [](Summary u, Result) { return number(u.goodput_rps); });
  add("utilisation",
      [](Summary u, Result) { return fmt::format("{:.1f} %", 100.0 * u.utilisation); });
  add("time with a queue",
      [](Summary u, Result) { return fmt::format("{:.1f} %", 100.0 * u.queued); });
  add("mean in flight", [](Summary u, Result) { return number(u.mean_in_flight); });
  add("mean waiting", [](Summary u, Result) { return number(u.mean_waiting); });
  add("preemptions", [](Summary, Result r) { return std::to_string(r.preemptions); });
  if (s.question.config.prefix_cache) {
    add("prompt tokens found", [](Summary, Result r) { return std::to_string(r.cached_tokens); });
  }
  add("prompt tokens computed", [](Summary, Result r) { return std::to_string(r.prefill_tokens); });
  if (s.question.config.disaggregated()) {
    add("KV handed on", [&](Summary, Result r) { return bytes(r.transferred_bytes); });
  }
  add("KV peak", [&](Summary, Result r) { return bytes(r.kv_peak_bytes); });
  add("KV budget", [&](Summary, Result r) { return bytes(r.kv_capacity_bytes); });
  add("GPU hours",
      [](Summary u, Result) { return fmt::format("{:.4g}", u.gpu_seconds / seconds_per_hour); });
  add("$ per million tokens out",
      [](Summary u, Result) { return number(u.dollars_per_million_output_tokens); });
  add("$ per million tokens",
      [](Summary u, Result) { return number(u.dollars_per_million_tokens); });
  return table;
}

TextTable latency_table(const ServeScenario& s) {
  TextTable table({"architecture", "latency", "mean", "p50", "p90", "p95", "p99"});
  for (const ServeOutcome& outcome : s.outcomes) {
    const ServeSummary& summary = outcome.summary;
    const std::pair<const char*, const Distribution*> rows[] = {
        {"wait in queue", &summary.wait_s},    {"first token (TTFT)", &summary.ttft_s},
        {"per token (TPOT)", &summary.tpot_s}, {"between tokens (ITL)", &summary.itl_s},
        {"end to end", &summary.e2e_s},
    };
    for (const auto& [name, d] : rows) {
      table.add({d == &summary.wait_s ? outcome.arch : "", name, or_na(d->mean), or_na(d->p50),
                 or_na(d->p90), or_na(d->p95), or_na(d->p99)});
    }
  }
  return table;
}

Json serve_json(const ServeScenario& s) {
  Json list = Json::array();
  for (const ServeOutcome& outcome : s.outcomes) {
    const ServeSummary& summary = outcome.summary;
    const ServeResult& result = outcome.result;
    Json entry;
    entry["model"] = s.model;
    entry["arch"] = outcome.arch;
    entry["hardware"] = s.hardware.name;
    entry["profile"] = s.profile.name;
    entry["gpus"] = result.gpus;
    entry["requests"] = summary.requests;
    entry["completed"] = summary.completed;
    entry["rejected"] = summary.rejected;
    entry["input_tokens"] = summary.input_tokens;
    entry["output_tokens"] = summary.output_tokens;
    entry["duration_s"] = summary.duration_s;
    entry["wait_s"] = distribution_json(summary.wait_s);
    entry["ttft_s"] = distribution_json(summary.ttft_s);
    entry["tpot_s"] = distribution_json(summary.tpot_s);
    entry["itl_s"] = distribution_json(summary.itl_s);
    entry["e2e_s"] = distribution_json(summary.e2e_s);
    entry["output_tokens_per_s"] = or_null(summary.output_tokens_per_s);
    entry["goodput_rps"] = or_null(summary.goodput_rps);
    entry["preemptions"] = result.preemptions;
    entry["kv_peak_bytes"] = result.kv_peak_bytes;
    entry["kv_capacity_bytes"] = result.kv_capacity_bytes;
    entry["utilisation"] = summary.utilisation;
    entry["queued"] = summary.queued;
    entry["mean_in_flight"] = or_null(summary.mean_in_flight);
    entry["mean_waiting"] = or_null(summary.mean_waiting);
    entry["prefill_tokens"] = result.prefill_tokens;
    entry["cached_tokens"] = result.cached_tokens;
    entry["transferred_bytes"] = result.transferred_bytes;
    entry["gpu_seconds"] = summary.gpu_seconds;
    entry["cost_per_million_output_tokens"] = or_null(summary.dollars_per_million_output_tokens);
    entry["cost_per_million_tokens"] = or_null(summary.dollars_per_million_tokens);
    list.push_back(std::move(entry));
  }
  return list;
}

std::string serve_text(const ServeScenario& s) {
  std::string text =
      fmt::format("{} on {}: {}\n{}\n{}", s.model, s.hardware.description, s.question.traffic,
                  engines_text(s), profile_line(s.profile, s.hardware));
  text += fmt::format("\n{}\n{}\n{}", latency_table(s).text(), totals_table(s).text(),
                      occupancy_text(s));
  const auto& slo = s.question.slo;
  if (slo.ttft_s) text += fmt::format("good: TTFT up to {}\n", seconds_text(*slo.ttft_s));
  if (slo.tpot_s) text += fmt::format("good: TPOT up to {}\n", seconds_text(*slo.tpot_s));
  return text;
}

std::vector<std::string> serve_warnings(const ServeScenario& s) {
  constexpr int64_t named = 5;
  std::vector<std::string> lines;
  for (const ServeOutcome& outcome : s.outcomes) {
    int64_t rejected = 0;
    for (size_t i = 0; i < outcome.result.requests.size(); ++i) {
      const RequestRecord& record = outcome.result.requests[i];
      if (record.status == RequestRecord::Status::completed || ++rejected > named) continue;
      lines.push_back(fmt::format(
          "{}: request {} rejected: {} tokens in and {} out never fit {} bytes of KV", outcome.arch,
          i + 1, record.input, record.output, outcome.result.kv_capacity_bytes));
    }
    if (rejected > named) {
      lines.push_back(fmt::format("{}: {} more requests rejected", outcome.arch, rejected - named));
    }
    if (s.question.config.prefix_cache && !outcome.result.prefix_cache) {
      lines.push_back(fmt::format(
          "{}: no prefix cache: a recurrent state or a window does not keep a prefix by blocks",
          outcome.arch));
    }
    if (outcome.summary.utilisation > trusted_utilisation) {
      // A batch has room long after its engine has stopped being idle; a queue shows that it has
      // not.
      constexpr double mostly = 0.5;
      const ServeSummary& summary = outcome.summary;
      lines.push_back(
          fmt::format("{}: utilisation {:.1f} %, with a queue {:.1f} % of the time: {}",
                      outcome.arch, 100.0 * summary.utilisation, 100.0 * summary.queued,
                      summary.queued > mostly
                          ? "at saturation; do not trust the waits, nor what is built on them"
                          : "never idle, yet batches have room; figures near saturation are not to "
                            "be trusted"));
    }
  }
  return lines;
}

}  // namespace orthros::cli
