// Predictions beside reported and measured figures.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/paper.hpp"
#include "sim/profile.hpp"

namespace orthros {

// One figure. A bound judges |predicted / reported - 1|; where there is none, the figure was fitted
// or is only shown. Errors of whole tables have no reported value: predicted is the error.
struct Figure {
  std::string from;  // "Table 4", "Fig. 4", a table's file
  std::string name;
  std::string profile;
  std::optional<double> reported;
  double predicted = 0.0;
  std::optional<double> bound;
  bool fitted = false;

  double error() const { return reported ? predicted / *reported - 1.0 : predicted; }
  bool within() const;
};

// Table 4: TTFT and end to end of every row, decode rates of the fitted rows.
std::vector<Figure> table4_figures(const PaperTable& table, const Profile& profile);

// Fig. 4: how many times faster Orthros prefills than the Transformer. Nothing in it is fitted.
std::vector<Figure> figure4_figures();

// Profiles against this project's own sweeps, by scenarios/measured/runs.json: each run that was
// held out, then median and largest error of TTFT, decode steps and whole runs.
std::vector<Figure> run_figures();

// Profiles against runs of this project's engine on several GPUs of a host, by the same file: TTFT
// and decode steps, bounded each where the profile's attention is the run's and the engine has not
// become faster since, and the seconds of exchanges, which the latency between shards was fitted
// to. Runs over another transport than NCCL are left out.
std::vector<Figure> group_figures();

// The shipped profiles against the measured tables that `folder` holds, by scenarios/measured/:
// median and 90th percentile of the relative error of kernels, means of servers. A table that is
// absent is an InputError.
std::vector<Figure> measured_figures(const std::filesystem::path& folder);

}  // namespace orthros
