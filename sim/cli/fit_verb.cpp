// orthros-sim fit: a profile from measured tables or from the paper's figures.
#include <fmt/format.h>

#include "reference/spec/input_error.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/fit_paper.hpp"

namespace orthros::cli {
namespace {

constexpr const char* usage = "orthros-sim fit --paper [--out PROFILE.json]";

constexpr const char* notes =
    R"(--paper: five numbers, by least squares on relative errors of every figure of Table 4's 128K / 128
rows; the other rows are left for 'orthros-sim validate --paper'.
)";

}  // namespace

int run_fit(const Arguments& arguments) {
  po::options_description options("options");
  options.add_options()("help", "print this")("paper", "fit to Table 4's 128K / 128 rows")(
      "out", po::value<std::string>(), "the profile to write; default: print it");
  const auto given = parse_verb(arguments, options, usage, notes);
  if (!given) return 0;
  if (given->count("paper") == 0) throw InputError("fit", "", "expected --paper");
  const Profile profile = fit_paper_profile(load_paper_table());
  if (given->count("out") != 0) {
    save_profile(profile, text_option(*given, "out"));
  } else {
    fmt::print("{}\n", to_json(profile).dump(2));
  }
  return 0;
}

}  // namespace orthros::cli
