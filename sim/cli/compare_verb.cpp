// orthros-sim compare: what one training budget buys each architecture.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reference/spec/config.hpp"
#include "reference/spec/input_error.hpp"
#include "sim/cli/number_option.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/cli/text_table.hpp"
#include "sim/cli/verbs.hpp"
#include "sim/training.hpp"

namespace orthros::cli {
namespace {

constexpr const char* usage =
    "orthros-sim compare --equal-flops --model MODEL --arch A,B [--tokens N | --flops X]";

constexpr const char* notes =
    R"(The budget is --flops, or what --tokens cost the first architecture. Training is 3 x forward, every
position predicting, at sequences of --length: exact counts, nothing about quality or time.
)";

}  // namespace

int run_compare(const Arguments& arguments) {
  po::options_description options("options");
  add_model_options(options);
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("equal-flops", "the same training budget for all")(
      "tokens", text()->default_value("100g"), "tokens that the first architecture is trained on")(
      "flops", text(), "the budget itself")("length", text()->default_value("2K"),
                                            "training sequence length");
  add_format_options(options);
  const auto given = parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  if (!has_option(*given, "equal-flops")) {
    throw InputError("compare", "", "expected --equal-flops");
  }
  const Format format = format_of(*given);
  const ModelSpec spec = load_model_spec(text_option(*given, "model"));
  const int64_t length = size_option(*given, "length", 1);
  double budget = 0.0;
  double first_tokens = 0.0;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  TextTable table({"arch", "parameters", "flops_per_token", "tokens", "of_the_first"});
  for (const ArchitectureModel& a : architectures_of(*given, spec)) {
    const CountModel model = count_model(a.spec);
    const double per_token = pretrain_flops_per_token(model, length);
    if (budget == 0.0) {
      budget = has_option(*given, "flops")
                   ? number_option(*given, "flops", 1.0, 1e40)
                   : per_token * static_cast<double>(size_option(*given, "tokens", 1));
      first_tokens = budget / per_token;
    }
    const double tokens = budget / per_token;
    list.push_back({{"model", model_name(*given, spec)},
                    {"arch", a.name},
                    {"parameters", model.parameters},
                    {"length", length},
                    {"budget_flops", budget},
                    {"flops_per_token", per_token},
                    {"tokens", tokens},
                    {"of_the_first", tokens / first_tokens}});
    table.add({a.name, std::to_string(model.parameters), fmt::format("{:.5g}", per_token),
               fmt::format("{:.5g}", tokens), fmt::format("{:.3f}", tokens / first_tokens)});
  }
  if (format == Format::json) {
    fmt::print("{}\n", list.dump(2));
  } else if (format == Format::csv) {
    fmt::print("{}", table.csv());
  } else {
    fmt::print("{}: {:.4g} training FLOPs at length {}\n\n{}", model_name(*given, spec), budget,
               length, table.text());
  }
  return 0;
}

}  // namespace orthros::cli
