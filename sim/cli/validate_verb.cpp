// orthros-sim validate: predictions beside reported and measured figures.
#include <fmt/format.h>

#include <cmath>

#include "reference/spec/input_error.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/cli/text_table.hpp"
#include "sim/fit_paper.hpp"

namespace orthros::cli {
namespace {

constexpr const char* usage = "orthros-sim validate --paper [--profile P] [--csv]";

constexpr const char* notes =
    R"(--paper: reported, predicted and relative error of Table 4's rows. Exit 1 if a row that the profile
was not fitted on misses its bound: 5 % in TTFT, 3 % end to end (6 % for the hybrids, whose layer
sizes the paper does not give).
)";

// Adds one figure; returns whether it is within its bound. No bound: shown, not judged.
class FigureTable {
 public:
  FigureTable() : table_({"figure", "reported", "predicted", "error", "bound", ""}) {}
  void add(const std::string& name, double reported, double predicted, double bound, bool judged) {
    const double error = predicted / reported - 1.0;
    const bool within = !judged || std::abs(error) <= bound;
    passed_ = passed_ && within;
    table_.add({name, fmt::format("{:.4g}", reported), fmt::format("{:.4g}", predicted),
                percent_text(error), judged ? fmt::format("{:.0f} %", 100.0 * bound) : "",
                judged ? (within ? "ok" : "MISSED") : "fitted"});
  }
  bool passed() const { return passed_; }
  const TextTable& table() const { return table_; }

 private:
  TextTable table_;
  bool passed_ = true;
};

}  // namespace

int run_validate(const Arguments& arguments) {
  po::options_description options("options");
  options.add_options()("help", "print this")("paper", "Table 4 of the paper")(
      "profile", po::value<std::string>()->default_value("sglang-triton-h100"),
      "a preset of scenarios/profiles/ or a file")("csv", "print CSV");
  const auto given = parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  if (given->count("paper") == 0) throw InputError("validate", "", "expected --paper");
  const PaperTable paper = load_paper_table();
  const Profile profile = load_profile(text_option(*given, "profile"));
  const Hardware hardware = load_hardware(paper.hardware);
  FigureTable figures;
  for (const PaperRow& row : paper.rows) {
    const CostLatency latency = predict(row, profile, hardware).latency;
    const std::string name =
        fmt::format("{} {}/{}", row.arch, row.request.input, row.request.output);
    if (row.ttft_s) {
      figures.add(name + " TTFT s", *row.ttft_s, latency.ttft_s, paper.ttft_bound, !row.fitted);
    }
    figures.add(name + " end to end s", row.e2e_s, latency.e2e_s, paper.e2e_bound_of(row),
                !row.fitted);
    if (row.fitted) {
      figures.add(name + " decode tok/s", row.decode_tokens_per_s, *latency.decode_tokens_per_s,
                  0.0, false);
    }
  }
  if (given->count("csv") != 0) {
    fmt::print("{}", figures.table().csv());
  } else {
    fmt::print("{}, {} ({})\n{}\n{}", paper.title, paper.source, paper.conditions,
               fmt::format("profile {}: {}\n", profile.name, profile.caveat),
               figures.table().text());
  }
  return figures.passed() ? 0 : 1;
}

}  // namespace orthros::cli
