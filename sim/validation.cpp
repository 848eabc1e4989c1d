// Gathers figures from the paper and from measured tables.
#include "sim/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/spec/architecture.hpp"
#include "reference/spec/config.hpp"
#include "reference/spec/json_fields.hpp"
#include "reference/spec/scenario_files.hpp"
#include "sim/fit_kernels.hpp"
#include "sim/fit_paper.hpp"
#include "sim/fit_runs.hpp"
#include "sim/fit_serving.hpp"

namespace orthros {

namespace {

// Calls visit(entry) for each object of the array `field` of a scenario's file.
template <class Visit>
void for_each_entry(const JsonFields& fields, const char* field, const Visit& visit) {
  const nlohmann::json* entries = fields.raw(field);
  if (entries == nullptr || !entries->is_array()) fields.fail(field, "expected an array");
  const std::string prefix = std::string(field) + "[].";
  for (const nlohmann::json& entry : *entries) visit(JsonFields(entry, fields.file(), prefix));
}

}  // namespace

bool Figure::within() const {
  return !bound || std::abs(error()) <= *bound;
}

std::vector<Figure> table4_figures(const PaperTable& table, const Profile& profile) {
  const Hardware hardware = load_hardware(table.hardware);
  std::vector<Figure> figures;
  for (const PaperRow& row : table.rows) {
    const CostLatency latency = predict(row, profile, hardware).latency;
    const auto add = [&](const char* what, double reported, double predicted, double bound) {
      Figure figure{
          "Table 4",
          fmt::format("{} {}/{} {}", row.arch, row.request.input, row.request.output, what),
          profile.name,
          reported,
          predicted,
          std::nullopt,
          row.fitted};
      if (!row.fitted) figure.bound = bound;
      figures.push_back(figure);
    };
    if (row.ttft_s) add("TTFT s", *row.ttft_s, latency.ttft_s, table.ttft_bound);
    add("end to end s", row.e2e_s, latency.e2e_s, table.e2e_bound_of(row));
    if (row.fitted) {
      add("decode tok/s", row.decode_tokens_per_s, *latency.decode_tokens_per_s, 0.0);
    }
  }
  return figures;
}

std::vector<Figure> figure4_figures() {
  const std::filesystem::path path = scenario_path("paper", "figure4");
  const nlohmann::json json = read_json_file(path);
  const JsonFields fields(json, path.string());
  const Hardware hardware = load_hardware(fields.required_text("hardware"));
  const Profile profile = load_profile(fields.required_text("profile"));
  const ModelSpec spec = load_model_spec(fields.required_text("model"));
  std::vector<Figure> figures;
  for_each_entry(fields, "rows", [&](const JsonFields& row) {
    Deployment to;
    to.sequence_parallel = row.required_integer("sequence_parallel");
    to.left_context = LeftContext::receive;  // how shards were made is not told
    const CostRequest request{row.required_integer("input"), 1, 1};
    check_request(request);
    const auto ttft = [&](const char* architecture) {
      ArchitectureRequest wanted;
      wanted.name = architecture;
      const StepCost cost(count_model(to_architecture(spec, wanted)), to, profile, hardware);
      return cost_point(cost, hardware, request).latency.ttft_s;
    };
    figures.push_back(
        {"Fig. 4",
         fmt::format("prefill speed-up at {} on {} GPU", request.input, to.sequence_parallel),
         profile.name, row.required_number("speedup"), ttft("transformer") / ttft("orthros"),
         fields.required_number("bound"), false});
  });
  return figures;
}

namespace {

// Held-out rows of one sweep, bounded each, and their summaries.
void add_runs(const JsonFields& entry, const std::filesystem::path& folder,
              std::vector<Figure>& figures) {
  const std::string file = entry.required_text("file");
  const double worst = entry.required_number("worst");
  const std::vector<MeasuredRun> runs = measured_runs(CsvTable::read(folder / file));
  const Profile profile = load_profile(entry.required_text("profile"));
  const ModelSpec spec = load_model_spec(entry.required_text("model"));
  const auto predictions = predict_runs(runs, spec, profile, load_hardware(profile.fitted_on));
  for (const RunPrediction& one : predictions) {
    const MeasuredRun& run = *one.run;
    if (!run.held_out) continue;
    const std::string load = fmt::format("{} {} x {}/{}", run.arch, run.request.batch,
                                         run.request.input, run.request.output);
    if (run.e2e_s) {
      figures.push_back(
          {file, load + " end to end s", profile.name, run.e2e_s, one.latency.e2e_s, worst, false});
    } else {
      figures.push_back({file, load + " decode step s", profile.name, run.decode_step_s,
                         *one.latency.decode_step_s, worst, false});
    }
  }
  const RunErrors errors = run_errors(predictions, true);
  // The bounds are for whole runs; their parts are shown.
  const auto summarise = [&](const char* what, const std::vector<double>& all, bool bounded) {
    double largest = 0.0;
    for (const double error : all) largest = std::max(largest, std::abs(error));
    const ErrorSummary summary = absolute_summary(all);
    const auto add = [&](const char* which, double error, double bound) {
      figures.push_back({file, fmt::format("{} {} error of {} held out", which, what, summary.rows),
                         profile.name, std::nullopt, error,
                         bounded ? std::optional(bound) : std::nullopt, false});
    };
    add("median", summary.median, entry.required_number("median"));
    add("largest", largest, worst);
  };
  summarise("TTFT", errors.ttft, false);
  summarise("decode step", errors.decode_step, false);
  summarise("whole run", errors.whole, true);
}

}  // namespace

std::vector<Figure> run_figures() {
  const std::filesystem::path path = scenario_path("measured", "runs");
  const nlohmann::json json = read_json_file(path);
  const JsonFields fields(json, path.string());
  std::vector<Figure> figures;
  for_each_entry(fields, "tables",
                 [&](const JsonFields& entry) { add_runs(entry, path.parent_path(), figures); });
  return figures;
}

namespace {

double measured_exchange(const JsonFields& run, const nlohmann::json& ops) {
  for (const nlohmann::json& op : ops) {
    const JsonFields fields(op, run.file(), "ops[].");
    if (fields.required_text("name") == "exchange") return fields.required_number("seconds");
  }
  run.fail("ops", "expected an exchange among them");
}

double predicted_exchange(const StepCost& cost, const CostRequest& request, Stage stage) {
  double seconds = 0.0;
  for (const CostOp& line : cost_ops(cost, request)) {
    if (line.stage == stage && line.op.kind == OpKind::communication) seconds += line.seconds;
  }
  return seconds;
}

// One run of `orthros-cuda bench --json`.
void add_group_run(const JsonFields& run, const JsonFields& entry, const std::string& file,
                   std::vector<Figure>& figures) {
  if (run.required_text("command").find("--transport host") != std::string::npos) return;
  const std::string arch = run.required_text("arch");
  const std::string attention = run.text("attention").value_or("one order");
  const auto through = entry.object("through");  // profiles, by what prompts attended through
  const auto own = through ? through->text(attention.c_str()) : std::nullopt;
  const Profile profile = load_profile(own ? *own : entry.required_text("profile"));
  const Hardware hardware = load_hardware(profile.fitted_on);
  const CostRequest request{run.required_integer("input"), run.required_integer("output"),
                            run.required_integer("batch")};
  check_request(request);
  Deployment to;
  to.sequence_parallel = run.required_integer("gpus");
  const StepCost cost(run_model(load_model_spec(entry.required_text("model")), arch), to, profile,
                      hardware);
  const CostLatency latency = cost_point(cost, hardware, request).latency;
  const bool comparable = own || attention == "one order";
  const std::string commit = run.required_text("commit").substr(0, 7);
  const auto add = [&](const std::string& what, double measured, double predicted, bool fitted) {
    Figure figure{file,
                  fmt::format("{} {}/{} on {} GPU at {} {}", arch, request.input, request.output,
                              to.sequence_parallel, commit, what),
                  profile.name,
                  measured,
                  predicted,
                  std::nullopt,
                  fitted};
    if (!fitted && comparable) figure.bound = entry.required_number("worst");
    figures.push_back(figure);
  };
  if (const auto ttft = run.number("ttft_s")) {
    add(comparable ? "TTFT s" : "TTFT s, measured through " + attention, *ttft, latency.ttft_s,
        false);
  }
  if (const auto step = run.number("decode_step_s")) {
    add("decode step s", *step, *latency.decode_step_s, false);
  }
  // A prefill's exchanges hold waiting for the rank that has more to do, so decode's alone are
  // fitted; Orthros', so that a Transformer's steps, which exchange as much, are predicted by it.
  const auto ops = arch == "transformer" ? std::nullopt : run.object("ops");
  const nlohmann::json* list = ops ? ops->raw("decode") : nullptr;
  if (list == nullptr || request.output < 2 || to.sequence_parallel == 1) return;
  add("exchanges s, decode", measured_exchange(run, *list),
      predicted_exchange(cost, {request.input, 2, request.batch}, Stage::decode), true);
}

}  // namespace

std::vector<Figure> group_figures() {
  const std::filesystem::path path = scenario_path("measured", "runs");
  const nlohmann::json json = read_json_file(path);
  const JsonFields fields(json, path.string());
  std::vector<Figure> figures;
  for_each_entry(fields, "groups", [&](const JsonFields& entry) {
    const std::string file = entry.required_text("file");
    const std::filesystem::path measured = path.parent_path() / file;
    const nlohmann::json record = read_json_file(measured);
    for_each_entry(JsonFields(record, measured.string()), "runs",
                   [&](const JsonFields& run) { add_group_run(run, entry, file, figures); });
  });
  return figures;
}

namespace {

// Means over the rows of whole servers that an entry of scenarios/measured/servers.json selects.
std::vector<Figure> server_figures(const std::filesystem::path& folder) {
  const std::filesystem::path path = scenario_path("measured", "servers");
  const nlohmann::json json = read_json_file(path);
  const JsonFields fields(json, path.string());
  std::vector<Figure> figures;
  for_each_entry(fields, "tables", [&](const JsonFields& row) {
    const std::string file = row.required_text("file");
    CsvTable table = CsvTable::read(folder / file);
    const nlohmann::json* where = row.raw("where");
    if (where == nullptr || !where->is_object()) row.fail("where", "expected an object");
    const JsonFields columns(*where, path.string(), "where.");
    for (const auto& [column, value] : where->items()) {
      table.keep_where(column, columns.required_text(column.c_str()));
    }
    const Profile profile = load_profile(row.required_text("profile"));
    const ServingErrors errors = serving_errors(measured_servers(table), profile);
    const auto add = [&](const char* what, const std::vector<double>& all) {
      const ErrorSummary summary = absolute_summary(all);
      figures.push_back({file, fmt::format("mean {} error of {} rows", what, summary.rows),
                         profile.name, std::nullopt, summary.mean, row.number(what), false});
    };
    add("ttft", errors.ttft);
    add("tpot", errors.tpot);
    add("e2e", errors.e2e);
  });
  return figures;
}

}  // namespace

std::vector<Figure> measured_figures(const std::filesystem::path& folder) {
  const std::filesystem::path path = scenario_path("measured", "kernels");
  const nlohmann::json json = read_json_file(path);
  const JsonFields fields(json, path.string());
  std::vector<Figure> figures;
  for_each_entry(fields, "tables", [&](const JsonFields& row) {
    const std::string file = row.required_text("file");
    const auto kind = op_kind_of(row.required_text("kind"));
    if (!kind) row.fail("kind", "expected a kind of op");
    const Profile profile = load_profile(row.required_text("profile"));
    const auto rows = measured_kernels(CsvTable::read(folder / file), *kind, {});
    const Law law =
        timing_on(profile, load_hardware(profile.fitted_on), Deployment{}.weight_bytes).law(*kind);
    const ErrorSummary errors = absolute_summary(relative_errors(rows, law));
    const auto add = [&](const char* what, double error) {
      figures.push_back({file, fmt::format("{} error of {} rows", what, errors.rows), profile.name,
                         std::nullopt, error, row.required_number(what), false});
    };
    add("median", errors.median);
    add("p90", errors.p90);
  });
  const std::vector<Figure> servers = server_figures(folder);
  figures.insert(figures.end(), servers.begin(), servers.end());
  return figures;
}

}  // namespace orthros
