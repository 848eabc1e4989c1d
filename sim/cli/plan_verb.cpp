// orthros-sim plan: the cheapest hardware, parallelism and batch for a traffic and its targets.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reference/spec/config.hpp"
#include "sim/cli/number_option.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/cli/text_table.hpp"
#include "sim/cli/verbs.hpp"
#include "sim/plan.hpp"

namespace orthros::cli {
namespace {

constexpr const char* usage =
    "orthros-sim plan --model MODEL --arch A,B --input N --output N --rate R --ttft S --tpot S";

constexpr const char* notes =
    R"(Tries every hardware listed, tensor groups of 1 to 8 and batches of powers of two that fit in memory.
TPOT = decode step at input + output/2 keys + (batch-1) prefills / (output-1); TTFT = prefill + one
step, without queueing: replicas are planned to --utilisation of their throughput, and near 1 the
real TTFT grows without bound. Prices are the hardware files' assumptions: put your own there.
'*' marks the Pareto front in cost, TTFT and TPOT. Exit 1 where no plan meets both targets.
)";

}  // namespace

int run_plan(const Arguments& arguments) {
  po::options_description options("options");
  add_model_options(options);
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("hardware", text()->default_value("h100-sxm,h200,a100,l40s,b200"),
                        "list of presets or files")("profile", text()->default_value("fa3-h100"),
                                                    "a preset of scenarios/profiles/ or a file")(
      "input", text(), "prompt tokens")("output", text(), "generated tokens")(
      "rate", text()->default_value("1"), "requests a second")(
      "ttft", text()->default_value("2"), "target, seconds")("tpot", text()->default_value("0.05"),
                                                             "target, seconds")(
      "utilisation", text()->default_value("0.8"), "of a replica's throughput")(
      "all", "list every plan, not the front alone");
  add_format_options(options);
  const auto given = parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  const Format format = format_of(*given);
  const Traffic traffic{size_option(*given, "input", 1), size_option(*given, "output", 1),
                        number_option(*given, "rate", 1e-6, 1e9)};
  check_request({traffic.input, traffic.output, 1});
  const PlanTargets targets{number_option(*given, "ttft", 1e-9, 1e9),
                            number_option(*given, "tpot", 1e-9, 1e9),
                            number_option(*given, "utilisation", 0.01, 1.0)};
  const Profile profile = load_profile(text_option(*given, "profile"));
  const ModelSpec spec = load_model_spec(text_option(*given, "model"));
  std::vector<Plan> plans;
  for (const std::string& on : split_list("--hardware", text_option(*given, "hardware"))) {
    const Hardware hardware = load_hardware(on);
    for (const ArchitectureModel& a : architectures_of(*given, spec)) {
      const auto more = plans_for(a.name, count_model(a.spec), profile, hardware, traffic, targets);
      plans.insert(plans.end(), more.begin(), more.end());
    }
  }
  rank_plans(plans);
  const auto best = std::find_if(plans.begin(), plans.end(), [](const Plan& p) { return p.meets; });
  const int status = best == plans.end() ? 1 : 0;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  TextTable table({"arch", "hardware", "tensor", "batch", "replicas", "gpus", "ttft_s", "tpot_s",
                   "requests_per_s", "dollars_per_hour", "meets", "pareto"});
  for (const Plan& p : plans) {
    if (!p.pareto && !has_option(*given, "all")) continue;
    list.push_back({{"arch", p.arch},
                    {"hardware", p.hardware},
                    {"tensor_parallel", p.tensor_parallel},
                    {"batch", p.batch},
                    {"replicas", p.replicas},
                    {"gpus", p.gpus},
                    {"ttft_s", p.ttft_s},
                    {"tpot_s", p.tpot_s},
                    {"requests_per_s", p.requests_per_s},
                    {"dollars_per_hour", p.dollars_per_hour},
                    {"meets", p.meets},
                    {"pareto", p.pareto}});
    table.add({p.arch, p.hardware, std::to_string(p.tensor_parallel), std::to_string(p.batch),
               std::to_string(p.replicas), std::to_string(p.gpus), fmt::format("{:.4g}", p.ttft_s),
               fmt::format("{:.4g}", p.tpot_s), fmt::format("{:.4g}", p.requests_per_s),
               fmt::format("{:.2f}", p.dollars_per_hour), p.meets ? "yes" : "no",
               p.pareto ? "*" : ""});
  }
  if (format == Format::json) {
    fmt::print("{}\n", list.dump(2));
  } else if (format == Format::csv) {
    fmt::print("{}", table.csv());
  } else {
    fmt::print("profile {}: {}\n\n{}\n", profile.name, profile.caveat, table.text());
    if (status == 0) {
      fmt::print(
          "cheapest that meets both: {} on {} x {} ({} replicas, tensor {}, batch {}), "
          "{:.2f} dollars an hour\n",
          best->arch, best->gpus, best->hardware, best->replicas, best->tensor_parallel,
          best->batch, best->dollars_per_hour);
    } else {
      fmt::print("no plan meets both targets\n");
    }
  }
  return status;
}

}  // namespace orthros::cli
