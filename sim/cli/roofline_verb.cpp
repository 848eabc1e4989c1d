// orthros-sim roofline: every measured op of a sweep beside its floor.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reference/spec/config.hpp"
#include "reference/spec/input_error.hpp"
#include "sim/cli/cost_report.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/cli/text_table.hpp"
#include "sim/cli/verbs.hpp"
#include "sim/roofline.hpp"

namespace orthros::cli {
namespace {

constexpr const char* usage =
    "orthros-sim roofline --runs PREFIX [--arch A] [--input N] [--batch B] [options]";

constexpr const char* notes =
    R"(PREFIX-ops.csv is what 'orthros-cuda bench --sweep' measured: each op of a prefill and of the
decode step behind it, launched alone with an event behind each (a microsecond or two). Beside it stand
the op's FLOPs and bytes, over the whole prefill or the step, and its floor on --hardware by --profile:
with 'ideal' the larger of FLOPs over the dense peak and bytes over the memory's bandwidth. ratio is
floor / measured, 1 at best. gate_up_proj and the elementwise ops count as one, since a decode step runs
SwiGLU inside the product. Without --arch, --input and --batch: every load of the table.

examples
  orthros-sim roofline --runs scenarios/measured/h200 --hardware h200 --arch orthros --input 8192 --batch 1
)";

TextTable table_of(const std::vector<RooflineRow>& rows, bool for_people) {
  TextTable table({"arch", "input", "batch", "stage", "op", "launches", "FLOPs", "bytes", "floor_s",
                   "bound", "measured_s", "ratio"});
  for (const RooflineRow& row : rows) {
    table.add({row.arch, std::to_string(row.request.input), std::to_string(row.request.batch),
               std::string(name_of(row.stage)), row.group, std::to_string(row.launches),
               for_people ? flops_text(static_cast<double>(row.flops)) : std::to_string(row.flops),
               for_people ? fmt::format("{:.4g}", static_cast<double>(row.bytes))
                          : std::to_string(row.bytes),
               for_people ? seconds_text(row.floor_s) : fmt::format("{:.6g}", row.floor_s),
               row.bound,
               for_people ? seconds_text(row.measured_s) : fmt::format("{:.6g}", row.measured_s),
               fmt::format("{:.3f}", row.ratio())});
  }
  return table;
}

nlohmann::ordered_json json_of(const std::vector<RooflineRow>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const RooflineRow& row : rows) {
    list.push_back({{"arch", row.arch},
                    {"input", row.request.input},
                    {"batch", row.request.batch},
                    {"stage", name_of(row.stage)},
                    {"op", row.group},
                    {"launches", row.launches},
                    {"flops", row.flops},
                    {"bytes", row.bytes},
                    {"floor_s", row.floor_s},
                    {"bound", row.bound},
                    {"measured_s", row.measured_s},
                    {"ratio", row.ratio()}});
  }
  return list;
}

}  // namespace

int run_roofline(const Arguments& arguments) {
  po::options_description options("options");
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("runs", text(), "a sweep's PREFIX: reads PREFIX-ops.csv")(
      "model", text()->default_value("qwen3-8b"), "what the sweep ran")(
      "hardware", text()->default_value("h200"), "what it ran on")(
      "profile", text()->default_value("ideal"), "whose laws give the floors")(
      "arch", text(), "loads of this architecture")("input", text(), "of this many prompt tokens")(
      "batch", text(), "of this many sequences");
  add_format_options(options);
  const auto given = parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  const Format format = format_of(*given);
  const auto arch = optional_text(*given, "arch");
  const auto input = optional_size(*given, "input", 1);
  const auto batch = optional_size(*given, "batch", 1);
  const CsvTable file = CsvTable::read(text_option(*given, "runs") + "-ops.csv");
  std::vector<MeasuredOps> ops;
  for (MeasuredOps& one : measured_ops(file)) {
    if (arch && one.arch != *arch) continue;
    if (input && one.request.input != *input) continue;
    if (batch && one.request.batch != *batch) continue;
    ops.push_back(std::move(one));
  }
  if (ops.empty()) throw InputError(file.file(), "", "expected a load as asked for");
  const Hardware hardware = load_hardware(text_option(*given, "hardware"));
  const Profile profile = load_profile(text_option(*given, "profile"));
  const auto rows = roofline(ops, load_model_spec(text_option(*given, "model")), profile, hardware);
  if (format == Format::json) {
    fmt::print("{}\n", json_of(rows).dump(2));
  } else if (format == Format::csv) {
    fmt::print("{}", table_of(rows, false).csv());
  } else {
    fmt::print("{}\n{}\n{}", hardware.description, profile_line(profile, hardware),
               table_of(rows, true).text());
  }
  return 0;
}

}  // namespace orthros::cli
