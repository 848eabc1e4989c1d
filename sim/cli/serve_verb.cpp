// orthros-sim serve: a server under traffic, by architecture.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "reference/spec/config.hpp"
#include "reference/spec/input_error.hpp"
#include "reference/spec/output_file.hpp"
#include "sim/cli/html_option.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/cli/serve_progress.hpp"
#include "sim/cli/serve_report.hpp"
#include "sim/cli/verbs.hpp"
#include "sim/report/serve_page.hpp"
#include "sim/serve/trace_events.hpp"

namespace orthros::cli {
namespace {

constexpr const char* usage =
    "orthros-sim serve --model MODEL --arch A,B (--trace FILE | --rate R | --concurrency C) "
    "[options]";

constexpr const char* notes = R"(Traffic
  --trace recognises by content: Azure CSV (TIMESTAMP wall clock, ContextTokens, GeneratedTokens),
  Mooncake JSONL (ms, hash ids) and its lengths as CSV, BurstGPT CSV (seconds), and CSV of
  arrival_s,input,output. Its first request arrives at 0. A bad row is an error that names it.
  --rate draws gaps from a gamma distribution with --cv (1: Poisson), --concurrency C keeps C
  requests in flight until --requests are done; with --trace it takes that trace's lengths.
  Every architecture is given the same requests at the same times.
The engine
  A step gives each decoding sequence one token and fills the rest of the token budget with prompts,
  first come first served, in pieces where they do not fit. KV is paged. A request is let in when its
  whole prompt fits and, beside others, one block more for each. When decode runs out of blocks the
  newest sequence is preempted, and computed anew when there is room. Two streams keep all keys and
  values; windowed layers of one stream keep their window; a linear layer keeps one state.
  --prefix-cache: prompts with equal hash ids share their blocks of 512 tokens, kept while there is
  room, the least recently used given up first; only where every layer keeps every token.
  --disaggregate P:D: P engines prefill and hand the cache to D that decode, over the hardware's
  link; caches in transit wait outside GPU memory, and the sender frees its copy on arrival.
  --replicas N: requests are dealt in turn, or to the engine with the fewest in it.
Time
  A step takes what the profile's laws say of its kernels plus its software (see 'cost --help').
  --sequence-parallel: Orthros alone; prompts' pieces are shared out equally and receive their left
  context, decode steps are those of 'cost'.
  Runs of decode steps between events are summed in closed form; --stepwise gives the same figures
  to 1e-9. Nothing is random but what --seed draws.
Figures
  TTFT: arrival to first token. TPOT: (end - first token) / (output - 1), for 2 tokens and more.
  ITL: every gap between tokens; its percentiles resolve 0.4 %. Percentiles of requests are
  interpolated. Duration: first arrival to last completion. Goodput: completed requests within
  --slo-ttft and --slo-tpot, a second. Utilisation: share of time that engines are in a step;
  queued: share in which a request waits for one. Cost: all GPUs for the whole duration at --price.
Not modelled
  The front end, tokenisation and network; CUDA graph capture and padding; overlap of prefill's
  compute with decode's reads beyond what a law holds; speculative decoding; swapping to host memory;
  requests that are cancelled. Routing does not look for cached prefixes.
When not to trust it
  Near saturation, where waits grow without bound and small errors of the step time decide them: a
  warning says so above 90 % utilisation, and how often a queue stands, for an engine that batches
  is seldom idle long before it is full. On hardware other than the profile's. With the ideal profile, for
  anything but bounds.
)";

void say(const std::string& line) {
  fmt::print(stderr, "orthros-sim: warning: {}\n", line);
}

// Files are opened before the work and appear when all of it is done.
class Files {
 public:
  explicit Files(const po::variables_map& given)
      : requests_(asked(given, "requests-csv")),
        timeline_(asked(given, "timeline-csv")),
        events_(asked(given, "perfetto")) {}

  bool wants_events() const { return events_.has_value(); }

  void write(const ServeScenario& scenario, const TraceEvents& events) {
    put(requests_, [&] { return requests_csv(scenario); });
    put(timeline_, [&] { return timeline_csv(scenario); });
    put(events_, [&] { return events.json(); });
    for (auto* file : {&requests_, &timeline_, &events_}) {
      if (*file) (*file)->commit();
    }
  }

 private:
  using File = std::optional<OutputFile>;

  static File asked(const po::variables_map& given, const char* name) {
    if (const auto path = optional_text(given, name)) return File(std::in_place, *path);
    return std::nullopt;
  }

  template <class Text>
  static void put(File& file, Text text) {
    if (file) file->write(std::as_bytes(std::span<const char>(text())));
  }

  File requests_, timeline_, events_;
};

void warn_of_long_requests(const ServeScenario& scenario, int64_t max_positions) {
  int64_t past = 0;
  for (const Request& request : scenario.question.workload.requests) {
    if (max_positions > 0 && request.input + request.output > max_positions) ++past;
  }
  if (past > 0) {
    say(fmt::format("{} requests are past max_position_embeddings {}", past, max_positions));
  }
}

// As often as there are architectures; what progress is counted in.
int64_t prompt_tokens(const Workload& workload, size_t architectures) {
  constexpr double most = 0x1p62;
  double tokens = 0.0;
  for (const Request& request : workload.requests) tokens += static_cast<double>(request.input);
  return static_cast<int64_t>(std::min(tokens * static_cast<double>(architectures), most));
}

ServeOutcome outcome_of(const ServeScenario& scenario, const std::string& arch,
                        const StepCost& cost, ServeObserver* observer) {
  ServeConfig config = scenario.question.config;
  if (config.kv_budget == 0) {
    config.kv_budget = default_kv_budget(cost, config, scenario.hardware.memory_bytes);
    if (config.kv_budget == 0) {
      throw InputError("--hardware", "",
                       fmt::format("expected memory for more than the weights and activations of "
                                   "{} as {}, got {} bytes",
                                   scenario.model, arch, scenario.hardware.memory_bytes));
    }
  }
  ServeOutcome outcome;
  outcome.arch = arch;
  outcome.result = serve(cost, config, scenario.question.workload, observer);
  outcome.summary =
      summary_of(outcome.result, scenario.question.slo, scenario.question.dollars_per_gpu_hour);
  return outcome;
}

}  // namespace

int run_serve(const Arguments& arguments) {
  po::options_description options("options");
  add_model_options(options);
  add_hardware_options(options);
  add_traffic_options(options);
  add_engine_options(options);
  options.add_options()("skip-dead", "leave out the last layer's dead base work")(
      "requests-csv", po::value<std::string>(), "file to write: a line per request")(
      "timeline-csv", po::value<std::string>(), "file to write: queue, batch and KV over time")(
      "perfetto", po::value<std::string>(), "file to write: a trace for ui.perfetto.dev");
  add_format_options(options);
  add_html_option(options);
  const auto given = parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  const Format format = format_of(*given);
  const auto html = HtmlReport::asked_in(*given);
  ServeScenario scenario;
  const ModelSpec spec = load_model_spec(text_option(*given, "model"));
  scenario.model = model_name(*given, spec);
  scenario.hardware = load_hardware(text_option(*given, "hardware"));
  scenario.profile = load_profile(text_option(*given, "profile"));
  scenario.deployment = deployment_of(*given);
  scenario.question = serve_question(*given, scenario.hardware);
  const CountOptions counting{has_option(*given, "skip-dead")};
  Files files(*given);
  TraceEvents events;
  const auto architectures = architectures_of(*given, spec);
  Progress progress("serving", prompt_tokens(scenario.question.workload, architectures.size()));
  for (const ArchitectureModel& architecture : architectures) {
    const StepCost cost(count_model(architecture.spec, counting), scenario.deployment,
                        scenario.profile, scenario.hardware);
    RunLog log;
    ServeProgress observer(progress, files.wants_events() ? &log : nullptr);
    scenario.outcomes.push_back(outcome_of(scenario, architecture.name, cost, &observer));
    if (!files.wants_events()) continue;
    events.add(architecture.name, scenario.outcomes.back().result, log);
    if (!log.complete()) {
      say(fmt::format("--perfetto: the first {} runs of steps of {} only", RunLog::most_runs,
                      architecture.name));
    }
  }
  if (html) {
    report::Page page = report::serve_page(scenario);
    page.command = command_line("serve", arguments);
    html->write(page);
  }
  files.write(scenario, events);
  warn_of_long_requests(scenario, spec.max_positions);
  for (const std::string& line : serve_warnings(scenario)) say(line);
  switch (format) {
    case Format::json:
      fmt::print("{}\n", serve_json(scenario).dump(2));
      break;
    case Format::csv:
      fmt::print("{}", serve_csv(scenario));
      break;
    case Format::table:
      fmt::print("{}", serve_text(scenario));
      break;
  }
  return 0;
}

}  // namespace orthros::cli
