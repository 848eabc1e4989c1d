// orthros-sim sweep: cost points over lists and ranges, streamed as CSV.
#include <fmt/format.h>

#include <cstdio>

#include "reference/spec/config.hpp"
#include "reference/spec/input_error.hpp"
#include "sim/cli/cost_report.hpp"
#include "sim/cli/html_option.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/cli/sweep_serve.hpp"
#include "sim/cli/text_table.hpp"
#include "sim/cli/verbs.hpp"
#include "sim/report/sweep_page.hpp"
#include "sim/size_range.hpp"

namespace orthros::cli {
namespace {

using report::SweptSystem;

constexpr const char* usage =
    "orthros-sim sweep --model MODEL --arch A,B --input LIST --output LIST [options]";

constexpr const char* notes =
    R"(LIST: sizes and ranges, comma-separated: 4K,16K:128K:x2,1:9:+2. --arch, --hardware and --profile
take lists of names. Every combination is a row of CSV, the same columns as 'cost --csv' and the
window, in the order of the options; rows come as they are computed, on all cores.
--concurrency and --kv-budget take lists too: each combination is then a server under closed-loop
load (8 rounds of that many requests; see 'serve --help' for the engine), and the columns are its
latencies, throughput, preemptions, KV peak and utilisation.
)";

std::string cell(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

std::string row_of(const std::string& model, const SweptSystem& s, const CostRequest& request) {
  const CostPoint p = cost_point(s.cost, s.hardware, request);
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                     model, s.arch, s.window ? std::to_string(*s.window) : "", s.hardware.name,
                     s.profile.name, request.input, request.output, request.batch, p.flops.prefill,
                     p.flops.decode, p.flops.total, p.memory.weights, p.memory.kv_per_token,
                     p.memory.kv, p.memory.state, p.memory.total, p.fits ? "true" : "false",
                     p.latency.ttft_s, cell(p.latency.decode_step_s), cell(p.latency.tpot_s),
                     p.latency.e2e_s, cell(p.latency.output_tokens_per_s),
                     cell(p.latency.decode_tokens_per_s));
}

std::vector<SweptSystem> series_of(const po::variables_map& given, const ModelSpec& spec) {
  std::vector<SweptSystem> series;
  std::vector<std::optional<int64_t>> windows = {std::nullopt};
  if (const auto list = optional_text(given, "window")) {
    windows.clear();
    for (int64_t w : parse_size_ranges("--window", *list)) windows.emplace_back(w);
  }
  const Deployment to = deployment_of(given);
  for (const std::string& on : split_list("--hardware", text_option(given, "hardware"))) {
    const Hardware hardware = load_hardware(on);
    for (const std::string& name : split_list("--profile", text_option(given, "profile"))) {
      const Profile profile = load_profile(name);
      for (const auto& window : windows) {
        for (const ArchitectureModel& a : architectures_of(given, spec, window)) {
          series.push_back({a.name, window_of(a.spec), hardware, profile,
                            StepCost(count_model(a.spec), to, profile, hardware)});
        }
      }
    }
  }
  return series;
}

}  // namespace

int run_sweep(const Arguments& arguments) {
  po::options_description options("options");
  add_model_options(options);
  add_hardware_options(options);
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("input", text(), "prompt tokens")("output", text(), "generated tokens")(
      "batch", text()->default_value("1"), "sequences");
  add_served_sweep_options(options);
  add_html_option(options);
  const auto given = parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  if (is_served_sweep(*given) && has_option(*given, "html")) {
    throw InputError("--html", "", "expected no --concurrency or --kv-budget beside it");
  }
  const auto html = HtmlReport::asked_in(*given);
  const ModelSpec spec = load_model_spec(text_option(*given, "model"));
  const std::string model = model_name(*given, spec);
  const std::vector<SweptSystem> series = series_of(*given, spec);
  const auto inputs = parse_size_ranges("--input", text_option(*given, "input"));
  const auto outputs = parse_size_ranges("--output", text_option(*given, "output"));
  if (is_served_sweep(*given)) {
    sweep_served(*given, model, series, inputs, outputs);
    return 0;
  }
  const auto batches = parse_size_ranges("--batch", text_option(*given, "batch"));
  // Every request is checked, and its largest counts formed, before anything is printed.
  for (int64_t input : inputs) {
    for (int64_t output : outputs) {
      for (int64_t batch : batches) {
        check_request({input, output, batch});
        for (const SweptSystem& s : series) row_of(model, s, {input, output, batch});
      }
    }
  }
  if (html) {
    report::Page page =
        report::sweep_page({model, deployment_of(*given), series, inputs, outputs, batches});
    page.command = command_line("sweep", arguments);
    html->write(page);
  }
  fmt::print(
      "model,arch,window,hardware,profile,input,output,batch,flops_prefill,flops_decode,"
      "flops_total,weights_bytes,kv_bytes_per_token,kv_bytes,state_bytes,total_bytes,fits,ttft_s,"
      "decode_step_s,tpot_s,e2e_s,output_tokens_per_s,decode_tokens_per_s\n");
  const auto block = static_cast<int64_t>(outputs.size() * batches.size());
  for (const SweptSystem& s : series) {
    for (int64_t input : inputs) {
      std::vector<std::string> rows(static_cast<size_t>(block));
#pragma omp parallel for schedule(static)
      for (int64_t i = 0; i < block; ++i) {
        const auto batch_count = static_cast<int64_t>(batches.size());
        const CostRequest request{input, outputs[static_cast<size_t>(i / batch_count)],
                                  batches[static_cast<size_t>(i % batch_count)]};
        rows[static_cast<size_t>(i)] = row_of(model, s, request);
      }
      for (const std::string& row : rows) fmt::print("{}", row);
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace orthros::cli
