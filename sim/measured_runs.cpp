// Reads sweeps.
#include "sim/measured_runs.hpp"

#include <fmt/format.h>

#include "reference/spec/architecture.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros {
namespace {

double positive(const CsvTable& table, size_t row, const char* column) {
  const double value = table.number(row, column);
  if (value <= 0.0) {
    throw InputError(table.file(), column, fmt::format("expected a positive time, got {}", value));
  }
  return value;
}

std::optional<double> time_or_none(const CsvTable& table, size_t row, const char* column) {
  if (table.text(row, column).empty()) return std::nullopt;
  return positive(table, row, column);
}

const std::string& one_of(const CsvTable& table, size_t row, const char* column,
                          std::initializer_list<std::string_view> known) {
  const std::string& text = table.text(row, column);
  for (const std::string_view name : known) {
    if (text == name) return text;
  }
  throw InputError(table.file(), column,
                   fmt::format("expected one of {}, got '{}'", fmt::join(known, ", "), text));
}

bool is_held_out(const CsvTable& table, size_t row) {
  return one_of(table, row, "use", {"fit", "held_out"}) == "held_out";
}

CostRequest request_of(const CsvTable& table, size_t row, int64_t output) {
  const CostRequest request{table.integer(row, "input"), output, table.integer(row, "batch")};
  check_request(request);
  return request;
}

}  // namespace

std::string op_group(std::string_view op) {
  if (op == "embedding") return "";
  if (op == "gate_up_proj" || op == "elementwise") return "gate_up_proj, elementwise";
  if (op.find("attention") != std::string_view::npos) return "attention";
  return std::string(op);
}

std::vector<MeasuredRun> measured_runs(const CsvTable& table) {
  std::vector<MeasuredRun> runs;
  for (size_t row = 0; row < table.rows(); ++row) {
    MeasuredRun run;
    run.arch = table.text(row, "arch");
    run.request = request_of(table, row, table.integer(row, "output"));
    run.chunk = table.integer(row, "chunk");
    if (run.chunk < 1) throw InputError(table.file(), "chunk", "expected at least 1");
    run.held_out = is_held_out(table, row);
    run.method = one_of(table, row, "method", {"run", "sampled", "decode"});
    run.ttft_s = time_or_none(table, row, "ttft_s");
    run.decode_step_s = time_or_none(table, row, "decode_step_s");
    run.e2e_s = time_or_none(table, row, "end_to_end_s");
    const bool prefilled = run.method != "decode";
    if (prefilled != run.ttft_s.has_value() || prefilled != run.e2e_s.has_value() ||
        (run.request.output > 1) != run.decode_step_s.has_value()) {
      throw InputError(table.file(), "method",
                       "expected ttft_s and end_to_end_s but for decode, and decode_step_s above "
                       "one output");
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<MeasuredOps> measured_ops(const CsvTable& table) {
  std::vector<MeasuredOps> all;
  for (size_t row = 0; row < table.rows(); ++row) {
    MeasuredOps ops;
    ops.arch = table.text(row, "arch");
    ops.request = request_of(table, row, 2);
    ops.held_out = is_held_out(table, row);
    const bool decodes = one_of(table, row, "stage", {"prefill", "decode"}) == "decode";
    ops.stage = decodes ? Stage::decode : Stage::prefill;
    const bool same = !all.empty() && all.back().arch == ops.arch &&
                      all.back().stage == ops.stage && all.back().held_out == ops.held_out &&
                      all.back().request.input == ops.request.input &&
                      all.back().request.batch == ops.request.batch;
    if (!same) all.push_back(std::move(ops));
    const std::string group = op_group(table.text(row, "op"));
    const int64_t launches = table.integer(row, "launches");
    const double seconds = positive(table, row, "seconds");
    if (group.empty()) continue;
    MeasuredOps::Time& time = all.back().groups[group];
    time.launches += launches;
    time.seconds += seconds;
  }
  return all;
}

CountModel run_model(const ModelSpec& spec, const std::string& arch) {
  ArchitectureRequest request;
  request.name = arch;
  CountOptions options;
  options.skip_dead = true;
  return count_model(to_architecture(spec, request), options);
}

}  // namespace orthros
