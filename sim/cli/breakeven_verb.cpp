// orthros-sim breakeven: where the second architecture stops paying off against the first.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reference/spec/config.hpp"
#include "reference/spec/input_error.hpp"
#include "sim/break_even.hpp"
#include "sim/cli/cost_report.hpp"
#include "sim/cli/html_option.hpp"
#include "sim/cli/number_option.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/cli/text_table.hpp"
#include "sim/cli/verbs.hpp"
#include "sim/report/breakeven_page.hpp"
#include "sim/size_range.hpp"

namespace orthros::cli {
namespace {

constexpr const char* usage =
    "orthros-sim breakeven --model MODEL [--arch transformer,orthros] --input LIST [options]";

constexpr const char* notes =
    R"(For each input length, of the first architecture (slower to prefill) against the second:
  break-even output   the most output tokens at which the second ends --gain times sooner
  free-rows batch     the smallest batch at which its decode step is more than --slack slower
  repaying requests   requests of input + --output tokens whose saved FLOPs repay what training it
                      on --train-tokens of length --train-length took more
A figure that does not exist (never pays, none up to the limit) is n/a, in JSON null.
)";

using Row = report::BreakEvenRow;

TextTable table_of(const std::vector<Row>& rows, const std::string& none) {
  TextTable table({"input", "break_even_output", "free_rows_batch", "repaying_requests"});
  for (const Row& row : rows) {
    table.add({std::to_string(row.input), row.output ? std::to_string(*row.output) : none,
               row.batch ? std::to_string(*row.batch) : none,
               row.requests ? fmt::format("{:.4g}", *row.requests) : none});
  }
  return table;
}

}  // namespace

int run_breakeven(const Arguments& arguments) {
  po::options_description options("options");
  add_model_options(options);
  add_hardware_options(options);
  const auto text = [](const char* value) {
    return po::value<std::string>()->default_value(value);
  };
  options.add_options()("input", text("4K:1M:x2"), "prompt tokens, list or range")(
      "output", text("128"), "generated tokens of the requests that repay training")(
      "batch", text("1"), "sequences")("gain", text("1.1"), "end-to-end gain that still pays")(
      "slack", text("0.05"), "how much slower a decode step may be")("limit", text("1M"),
                                                                     "largest output length tried")(
      "train-tokens", text("80g"), "training tokens")("train-length", text("32K"),
                                                      "training sequence length");
  add_format_options(options);
  add_html_option(options);
  const auto given = parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  const Format format = format_of(*given);
  const auto html = HtmlReport::asked_in(*given);
  const ModelSpec spec = load_model_spec(text_option(*given, "model"));
  std::vector<ArchitectureModel> pair;
  if (has_option(*given, "arch")) {
    pair = architectures_of(*given, spec);
  } else {
    for (const char* name : {"transformer", "orthros"}) {
      pair.push_back(architecture_named(name, spec, optional_size(*given, "window", 1)));
    }
  }
  if (pair.size() != 2) throw InputError("--arch", "", "expected two architectures");
  const Hardware hardware = load_hardware(text_option(*given, "hardware"));
  const Profile profile = load_profile(text_option(*given, "profile"));
  const Deployment to = deployment_of(*given);
  const StepCost first(count_model(pair[0].spec), to, profile, hardware);
  const StepCost second(count_model(pair[1].spec), to, profile, hardware);
  const int64_t batch = size_option(*given, "batch", 1);
  const int64_t output = size_option(*given, "output", 1);
  const int64_t limit = size_option(*given, "limit", 1);
  const double gain = number_option(*given, "gain", 0.01, 1e6);
  const double slack = number_option(*given, "slack", 0.0, 1e6);
  const auto train_tokens = static_cast<double>(size_option(*given, "train-tokens", 1));
  const int64_t train_length = size_option(*given, "train-length", 1);
  constexpr int64_t largest_batch_tried = 4096;
  std::vector<Row> rows;
  for (int64_t input : parse_size_ranges("--input", text_option(*given, "input"))) {
    check_request({input, limit, batch});
    check_request({input, output, batch});
    rows.push_back({input, break_even_output(first, second, input, batch, gain, limit),
                    doubled_rows_batch(first, second, input, slack, largest_batch_tried),
                    repaying_requests(second.model(), first.model(), input, output, train_tokens,
                                      train_length)});
  }
  if (html) {
    report::Page page = report::breakeven_page(
        {model_name(*given, spec), pair[0].name, pair[1].name, &first, &second, hardware, to,
         profile, batch, output, limit, gain, slack, rows},
        table_of(rows, "n/a"));
    page.command = command_line("breakeven", arguments);
    html->write(page);
  }
  if (format == Format::json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Row& row : rows) {
      nlohmann::ordered_json entry = {{"model", model_name(*given, spec)},
                                      {"arch", {pair[0].name, pair[1].name}},
                                      {"hardware", hardware.name},
                                      {"profile", profile.name},
                                      {"input", row.input},
                                      {"batch", batch},
                                      {"gain", gain}};
      entry["break_even_output"] = nullptr;
      entry["free_rows_batch"] = nullptr;
      entry["repaying_requests"] = nullptr;
      if (row.output) entry["break_even_output"] = *row.output;
      if (row.batch) entry["free_rows_batch"] = *row.batch;
      if (row.requests) entry["repaying_requests"] = *row.requests;
      list.push_back(std::move(entry));
    }
    fmt::print("{}\n", list.dump(2));
    return 0;
  }
  const TextTable table = table_of(rows, format == Format::csv ? "" : "n/a");
  if (format == Format::csv) {
    fmt::print("{}", table.csv());
  } else {
    fmt::print("{}: {} against {}, batch {}, gain {}, on {}\n{}\n{}", model_name(*given, spec),
               pair[1].name, pair[0].name, batch, gain, hardware.description,
               profile_line(profile, hardware), table.text());
  }
  return 0;
}

}  // namespace orthros::cli
