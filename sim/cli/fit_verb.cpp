// orthros-sim fit: a profile from measured tables or from the paper's figures.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reference/spec/config.hpp"
#include "reference/spec/input_error.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/cli/verbs.hpp"
#include "sim/fit_kernels.hpp"
#include "sim/fit_paper.hpp"
#include "sim/fit_runs.hpp"
#include "sim/fit_serving.hpp"

namespace orthros::cli {
namespace {

constexpr const char* usage =
    "orthros-sim fit --table CSV --kind KIND [--base PROFILE] --out PROFILE.json | "
    "fit --runs PREFIX [--model M] --hardware H --out PROFILE.json | "
    "fit --paper [--out PROFILE.json]";

constexpr const char* notes =
    R"(--table: the law of one kind of kernel by least squares on relative error (Eigen), errors beyond 5 %
damped, at most 24 numbers. Printed and written with it: median and 90th percentile of the error by
5-fold cross-validation, each fifth of the rows predicted by a fit to the others.
  gemm               launch + (max of FLOPs / rate, bytes / bandwidth + a share of the other), times
                     a smooth factor of log2 m, n, k
  prefill-attention  the same with sequences as a third part, keys visited beyond the window, and a
                     factor of sequences, rows and keys per row; one law for full and windowed
  decode-attention   the same, bytes through tiers of bandwidth at fixed sizes
  serving            scales of a base profile's laws (default fa3-h100) and the software around
                     them; each row is a closed loop of clients, simulated from event to event
Columns: gemm m,n,k; attention batch,isl,step,window (0: full); all latency_ms.
Outside the fitted range of shapes the factor stays at its edge: trust it less there.
--base: the profile whose other kinds are kept; by --runs, its communication and its words.
--runs: a whole profile from a sweep of this project's engine ('orthros-cuda bench --sweep'): rows
marked fit alone; what it says of the rows held out is printed and written.
--paper: five numbers, by least squares on relative errors of every figure of Table 4's 128K / 128
rows; the other rows are left for 'orthros-sim validate --paper'.
)";

void write_or_print(const po::variables_map& given, const Profile& profile) {
  if (has_option(given, "out")) {
    save_profile(profile, text_option(given, "out"));
  } else {
    fmt::print("{}\n", to_json(profile).dump(2));
  }
}

// Provenance of other kinds stays; the kind's own is replaced.
void record(Profile& profile, const std::string& kind, nlohmann::ordered_json entry) {
  nlohmann::ordered_json kept = nlohmann::ordered_json::array();
  for (auto& other : profile.provenance) {
    if (!other.contains("kind") || other["kind"] != kind) kept.push_back(other);
  }
  kept.push_back(std::move(entry));
  profile.provenance = std::move(kept);
}

Profile fit_table(const po::variables_map& given) {
  const std::string kind_name = text_option(given, "kind");
  const auto kind = op_kind_of(kind_name);
  if (!kind) {
    throw InputError(
        "--kind", "",
        fmt::format("expected gemm, prefill-attention or decode-attention, got '{}'", kind_name));
  }
  CsvTable table = CsvTable::read(text_option(given, "table"));
  apply_where(given, table);
  const Hardware hardware = load_hardware(text_option(given, "hardware"));
  Profile profile;
  if (has_option(given, "base")) {
    profile = load_profile(text_option(given, "base"));
  } else {
    profile.provenance = nlohmann::ordered_json::array();
  }
  profile.fitted_on = hardware.name;
  if (has_option(given, "description")) profile.description = text_option(given, "description");
  if (has_option(given, "caveat")) profile.caveat = text_option(given, "caveat");
  if (profile.caveat.empty()) profile.caveat = "fitted to kernels; no software cost";
  const auto rows = measured_kernels(table, *kind, parse_heads(text_option(given, "heads")));
  const KernelFit fit = fit_kernel(rows, *kind, hardware);
  profile.law(*kind) = fit.law;
  const std::string source = has_option(given, "source")
                                 ? text_option(given, "source")
                                 : std::filesystem::path(table.file()).filename().string();
  record(
      profile, kind_name,
      {{"kind", kind_name},
       {"from", source},
       {"rows", fit.cross_validated.rows},
       {"parameters", fit.parameters},
       {"error_5_fold", {{"median", fit.cross_validated.median}, {"p90", fit.cross_validated.p90}}},
       {"by", "orthros-sim fit --kind " + kind_name}});
  fmt::print(stderr, "{}: {} rows, {} numbers, 5-fold error median {:.1f} %, p90 {:.1f} %\n",
             kind_name, fit.cross_validated.rows, fit.parameters,
             100.0 * fit.cross_validated.median, 100.0 * fit.cross_validated.p90);
  return profile;
}

nlohmann::ordered_json error_json(const std::vector<double>& errors) {
  const ErrorSummary summary = absolute_summary(errors);
  return {{"mean", summary.mean}, {"median", summary.median}, {"p90", summary.p90}};
}

void say_serving_errors(const std::string& which, const ServingErrors& errors) {
  fmt::print(stderr, "  {}: {} rows, TTFT {:.1f} %, TPOT {:.1f} %, end to end {:.1f} %\n", which,
             errors.ttft.size(), 100.0 * absolute_summary(errors.ttft).mean,
             100.0 * absolute_summary(errors.tpot).mean, 100.0 * absolute_summary(errors.e2e).mean);
}

Profile fit_servers(const po::variables_map& given) {
  CsvTable table = CsvTable::read(text_option(given, "table"));
  apply_where(given, table);
  const auto rows = measured_servers(table);
  const Profile base = load_profile(optional_text(given, "base").value_or("fa3-h100"));
  const ServingFit fit = fit_serving(rows, base);
  Profile profile = fit.profile;
  profile.description = optional_text(given, "description").value_or(profile.description);
  profile.caveat = optional_text(given, "caveat").value_or(profile.caveat);
  const ServingErrors& errors = fit.cross_validated;
  record(profile, "serving",
         {{"kind", "serving"},
          {"from", optional_text(given, "source")
                       .value_or(std::filesystem::path(table.file()).filename().string())},
          {"rows", rows.size()},
          {"parameters", fit.parameters},
          {"what", "scales of the base's laws, step and serving software"},
          {"base", base.name},
          {"error_5_fold",
           {{"ttft", error_json(errors.ttft)},
            {"tpot", error_json(errors.tpot)},
            {"e2e", error_json(errors.e2e)}}},
          {"by", "orthros-sim fit --kind serving"}});
  fmt::print(stderr, "serving: {} numbers; 5-fold mean errors\n", fit.parameters);
  say_serving_errors("all", errors);
  std::map<int64_t, ServingErrors> by_tensor_parallel;
  for (size_t i = 0; i < rows.size(); ++i) {
    ServingErrors& group = by_tensor_parallel[rows[i].deployment.tensor_parallel];
    group.ttft.push_back(errors.ttft[i]);
    group.tpot.push_back(errors.tpot[i]);
    group.e2e.push_back(errors.e2e[i]);
  }
  for (const auto& [ranks, group] : by_tensor_parallel) {
    say_serving_errors(fmt::format("tensor parallel {}", ranks), group);
  }
  return profile;
}

nlohmann::ordered_json run_errors_json(const std::vector<double>& all) {
  const ErrorSummary summary = absolute_summary(all);
  double worst = 0.0;
  for (const double error : all) worst = std::max(worst, std::abs(error));
  return {{"rows", summary.rows}, {"median", summary.median}, {"worst", worst}};
}

// A sweep of the engine: PREFIX-runs.csv and PREFIX-ops.csv.
Profile fit_sweep(const po::variables_map& given) {
  const std::string prefix = text_option(given, "runs");
  const CsvTable run_table = CsvTable::read(prefix + "-runs.csv");
  const CsvTable op_table = CsvTable::read(prefix + "-ops.csv");
  const std::vector<MeasuredRun> runs = measured_runs(run_table);
  const ModelSpec spec = load_model_spec(text_option(given, "model"));
  const Hardware hardware = load_hardware(text_option(given, "hardware"));
  const RunFit fit = fit_runs(runs, measured_ops(op_table), spec, hardware);
  Profile profile = fit.profile;
  profile.provenance = nlohmann::ordered_json::array();
  profile.caveat = "fitted to whole runs of one model";
  if (const auto base_name = optional_text(given, "base")) {
    // A sweep runs on one GPU: links stay as they are there.
    const Profile base = load_profile(*base_name);
    profile.law(OpKind::communication) = base.law(OpKind::communication);
    std::copy_if(base.special.begin(), base.special.end(), std::back_inserter(profile.special),
                 [](const SpecialLaw& one) { return one.kind == OpKind::communication; });
    profile.provenance = base.provenance;
    profile.description = base.description;
    profile.caveat = base.caveat;
  }
  profile.fitted_on = hardware.name;
  profile.description = optional_text(given, "description").value_or(profile.description);
  profile.caveat = optional_text(given, "caveat").value_or(profile.caveat);
  const auto predictions = predict_runs(runs, spec, profile, hardware);
  const auto errors = [&](bool held_out) -> nlohmann::ordered_json {
    const RunErrors all = run_errors(predictions, held_out);
    return {{"ttft", run_errors_json(all.ttft)},
            {"decode_step", run_errors_json(all.decode_step)},
            {"whole", run_errors_json(all.whole)}};
  };
  const auto name = [](const CsvTable& table) {
    return std::filesystem::path(table.file()).filename().string();
  };
  record(profile, "runs",
         {{"kind", "runs"},
          {"from", name(run_table) + ", " + name(op_table) + ": rows marked fit"},
          {"model", spec.name},
          {"runs", fit.runs},
          {"op_times", fit.op_times},
          {"parameters", fit.parameters},
          {"assumed",
           "bandwidth of large products, power of windowed attention and of elementwise "
           "ops; the host between passes as measured"},
          {"error_fitted", errors(false)},
          {"error_held_out", errors(true)},
          {"by", "orthros-sim fit --runs"}});
  fmt::print(stderr, "{}\n", profile.provenance.dump(2));
  return profile;
}

}  // namespace

int run_fit(const Arguments& arguments) {
  po::options_description options("options");
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("table", text(), "measured rows, CSV")(
      "runs", text(), "a sweep's PREFIX: PREFIX-runs.csv and PREFIX-ops.csv")(
      "model", text()->default_value("qwen3-8b"), "what the sweep ran")(
      "kind", text(), "gemm, prefill-attention, decode-attention or serving")(
      "hardware", text()->default_value("h100-sxm"), "what the rows were measured on")(
      "heads", text()->default_value("32/8x128"), "heads of an attention table")(
      "base", text(), "the profile to start from")("description", text(), "written into it")(
      "caveat", text(), "written into it")("source", text(), "where the table came from")(
      "paper", "fit to Table 4's 128K / 128 rows")("out", text(),
                                                   "the profile to write; default: print it");
  add_where_option(options);
  const auto given = parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  const int sources =
      has_option(*given, "paper") + has_option(*given, "table") + has_option(*given, "runs");
  if (sources != 1) throw InputError("fit", "", "expected one of --table, --runs and --paper");
  if (has_option(*given, "runs")) {
    write_or_print(*given, fit_sweep(*given));
  } else if (has_option(*given, "paper")) {
    write_or_print(*given, fit_paper_profile(load_paper_table()));
  } else if (text_option(*given, "kind") == "serving") {
    write_or_print(*given, fit_servers(*given));
  } else {
    write_or_print(*given, fit_table(*given));
  }
  return 0;
}

}  // namespace orthros::cli
