// Reads what `serve` is asked.
#include "sim/cli/serve_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/spec/input_error.hpp"
#include "reference/spec/size_text.hpp"
#include "sim/cli/number_option.hpp"
#include "sim/serve/traffic.hpp"
#include "sim/trace/trace.hpp"

namespace orthros::cli {
namespace {

constexpr double most_seconds = 1e9;
constexpr double least_positive = 1e-9;

void refuse(const po::variables_map& given, std::initializer_list<const char*> names,
            const char* why) {
  for (const char* name : names) {
    if (has_option(given, name)) {
      throw InputError(fmt::format("--{}", name), "", fmt::format("expected none {}", why));
    }
  }
}

std::optional<double> optional_number(const po::variables_map& given, const char* name,
                                      double least, double most) {
  if (!has_option(given, name)) return std::nullopt;
  return number_option(given, name, least, most);
}

Workload traced(const po::variables_map& given, std::string& format) {
  Trace trace = read_trace(text_option(given, "trace"));
  format = trace.format;
  Workload workload;
  workload.requests = std::move(trace.requests);
  workload.hash_ids = std::move(trace.hash_ids);
  const double scale =
      optional_number(given, "time-scale", least_positive, most_seconds).value_or(1);
  for (Request& request : workload.requests) request.arrival_s *= scale;
  auto& requests = workload.requests;
  if (const auto duration = optional_number(given, "duration", least_positive, most_seconds)) {
    requests.erase(std::find_if(requests.begin(), requests.end(),
                                [&](const Request& r) { return r.arrival_s >= *duration; }),
                   requests.end());
  }
  if (const auto count = optional_size(given, "requests", 1)) {
    requests.resize(std::min(requests.size(), static_cast<size_t>(*count)));
  }
  return workload;
}

Workload drawn(const po::variables_map& given, int64_t concurrency) {
  Traffic traffic;
  traffic.seed = static_cast<uint64_t>(size_option(given, "seed"));
  traffic.concurrency = concurrency;
  traffic.requests = optional_size(given, "requests", 1);
  traffic.duration_s = optional_number(given, "duration", least_positive, most_seconds);
  if (concurrency > 0) {
    refuse(given, {"duration", "cv"}, "beside --concurrency, whose end is --requests");
    if (!traffic.requests) throw InputError("--requests", "", "expected a count, got none");
  } else {
    if (!traffic.requests && !traffic.duration_s) {
      throw InputError("--rate", "", "expected --requests or --duration beside it, got neither");
    }
    traffic.rate = number_option(given, "rate", least_positive, most_seconds);
    traffic.variation = optional_number(given, "cv", 0.0, 100.0).value_or(1.0);
  }
  if (has_option(given, "lengths")) {
    refuse(given, {"input", "output"}, "beside --lengths");
    traffic.pairs = read_lengths(text_option(given, "lengths"));
  } else {
    traffic.input = parse_length_law("--input", text_option(given, "input"));
    traffic.output = parse_length_law("--output", text_option(given, "output"));
    if (traffic.input.mean < 1.0) throw InputError("--input", "", "expected at least 1, got 0");
    constexpr auto longest = static_cast<double>(longest_sequence / 2);
    if (traffic.input.mean > longest || traffic.output.mean > longest) {
      throw InputError("--input", "", fmt::format("expected lengths up to {}", longest));
    }
  }
  return generate(traffic);
}

std::string described(const Workload& workload, const std::string& source) {
  double input = 0.0, output = 0.0;
  for (const Request& request : workload.requests) {
    input += static_cast<double>(request.input);
    output += static_cast<double>(request.output);
  }
  const auto n = static_cast<double>(workload.requests.size());
  std::string text = fmt::format("{} requests {}, mean {:.0f} in and {:.0f} out",
                                 workload.requests.size(), source, input / n, output / n);
  if (workload.concurrency > 0) {
    return text + fmt::format(", closed loop of {}", workload.concurrency);
  }
  const double span = workload.requests.back().arrival_s - workload.requests.front().arrival_s;
  if (span > 0.0) text += fmt::format(", {:.4g} a second over {:.4g} s", (n - 1.0) / span, span);
  return text;
}

void read_traffic(const po::variables_map& given, ServeQuestion& question) {
  const bool trace = has_option(given, "trace");
  const bool rate = has_option(given, "rate");
  const bool closed = has_option(given, "concurrency");
  if (!trace && !rate && !closed) {
    throw InputError("--trace", "", "expected one of --trace, --rate and --concurrency, got none");
  }
  if (rate && (trace || closed)) {
    throw InputError("--rate", "", "expected no --trace and no --concurrency beside it");
  }
  const int64_t concurrency = closed ? size_option(given, "concurrency", 1) : 0;
  std::string source;
  if (trace) {
    refuse(given, {"input", "output", "lengths", "cv"}, "beside --trace");
    std::string format;
    question.workload = traced(given, format);
    question.workload.concurrency = concurrency;
    source = fmt::format("of a trace ({})", format);
  } else {
    refuse(given, {"time-scale"}, "without --trace");
    question.workload = drawn(given, concurrency);
    source = fmt::format("drawn with seed {}", text_option(given, "seed"));
  }
  if (question.workload.requests.empty()) {
    throw InputError("--duration", "", "expected a time in which a request arrives");
  }
  question.traffic = described(question.workload, source);
}

void read_disaggregation(const po::variables_map& given, ServeConfig& config,
                         const Hardware& hardware) {
  if (!has_option(given, "disaggregate")) return;
  const std::string text = text_option(given, "disaggregate");
  const size_t colon = text.find(':');
  if (colon == std::string::npos) {
    throw InputError("--disaggregate", "", fmt::format("expected P:D, got '{}'", text));
  }
  config.prefill_replicas = parse_size("--disaggregate", text.substr(0, colon));
  config.decode_replicas = parse_size("--disaggregate", text.substr(colon + 1));
  if (config.prefill_replicas < 1 || config.decode_replicas < 1) {
    throw InputError("--disaggregate", "", fmt::format("expected P:D from 1:1, got '{}'", text));
  }
  if (config.replicas != 1) {
    throw InputError("--disaggregate", "", "expected no --replicas beside it");
  }
  config.link_bandwidth = hardware.link_bandwidth;
  config.link_latency_s = hardware.link_latency_s;
}

}  // namespace

void add_traffic_options(po::options_description& options) {
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("trace", text(), "requests with arrivals; the format is recognised")(
      "rate", text(), "requests a second, drawn")(
      "cv", text(), "coefficient of variation of the gaps; default 1 (Poisson)")(
      "concurrency", text(), "clients that each wait for their answer, then ask again")(
      "input", text(), "prompt tokens: 30K, or lognormal:MEAN,CV")(
      "output", text(), "tokens generated: 300, or lognormal:MEAN,CV")(
      "lengths", text(), "CSV of lengths to draw from, instead of --input and --output")(
      "requests", text(), "how many, or the first so many of the trace")(
      "duration", text(), "no arrivals from this second on")(
      "time-scale", text(), "factor on a trace's arrival times: 0.5 doubles its rate")(
      "seed", text()->default_value("1"), "of what is drawn");
}

void add_engine_options(po::options_description& options) {
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("token-budget", text()->default_value("8192"), "tokens of a step")(
      "max-batch", text()->default_value("256"), "sequences in prefill and decode")(
      "block-size", text()->default_value("16"), "tokens of a KV block")(
      "kv-budget", text(), "bytes of a GPU for KV and states; default: what is left")(
      "prefix-cache", "find prompts' beginnings by a trace's hash ids")(
      "replicas", text()->default_value("1"), "engines, each with its own queue and cache")(
      "routing", text()->default_value("round-robin"), "round-robin or least-loaded")(
      "disaggregate", text(), "P:D engines for prefill and for decode")(
      "stepwise", "one event a step: slow, the same figures")(
      "slo-ttft", text(), "seconds to the first token that count as good")(
      "slo-tpot", text(), "seconds per output token that count as good")(
      "price", text(), "dollars per GPU and hour; default: the hardware's");
}

ServeQuestion serve_question(const po::variables_map& given, const Hardware& hardware) {
  ServeQuestion question;
  ServeConfig& config = question.config;
  config.token_budget = size_option(given, "token-budget", 1);
  config.max_batch = size_option(given, "max-batch", 1);
  config.block_size = size_option(given, "block-size", 1);
  config.kv_budget = optional_size(given, "kv-budget", 1).value_or(0);
  config.replicas = size_option(given, "replicas", 1);
  config.routing = choice_option(given, "routing", {"round-robin", "least-loaded"}) == "round-robin"
                       ? Routing::round_robin
                       : Routing::least_loaded;
  config.stepwise = has_option(given, "stepwise");
  config.prefix_cache = has_option(given, "prefix-cache");
  read_disaggregation(given, config, hardware);
  question.slo.ttft_s = optional_number(given, "slo-ttft", least_positive, most_seconds);
  question.slo.tpot_s = optional_number(given, "slo-tpot", least_positive, most_seconds);
  question.dollars_per_gpu_hour =
      optional_number(given, "price", 0.0, most_seconds).value_or(hardware.dollars_per_hour);
  read_traffic(given, question);
  if (config.prefix_cache && question.workload.hash_ids.empty()) {
    throw InputError("--prefix-cache", "", "expected a trace with hash ids");
  }
  return question;
}

}  // namespace orthros::cli
