// Fits a profile to whole runs of an engine, and says how far it is from others.
#pragma once

#include <vector>

#include "sim/least_squares.hpp"
#include "sim/measured_runs.hpp"
#include "sim/profile.hpp"

namespace orthros {

struct RunFit {
  Profile profile;
  int64_t parameters = 0;  // free numbers of the profile
  int64_t runs = 0;        // that it was fitted on
  int64_t op_times = 0;
};

// Least squares on relative errors of the rows that are not held out: every TTFT and decode step,
// and, with a fifth of their weight, the times of ops. Large errors are damped. `spec`: the model
// that ran. Throws InputError where the rows are fewer than twice the free numbers.
RunFit fit_runs(const std::vector<MeasuredRun>& runs, const std::vector<MeasuredOps>& ops,
                const ModelSpec& spec, const Hardware& hardware);

// What a profile says of a run.
struct RunPrediction {
  const MeasuredRun* run;
  CostLatency latency;
};
std::vector<RunPrediction> predict_runs(const std::vector<MeasuredRun>& runs, const ModelSpec& spec,
                                        const Profile& profile, const Hardware& hardware);

// Relative errors, predicted over measured less one. Whole runs: end to end, or, where the prompt
// was not run, the decode step.
struct RunErrors {
  std::vector<double> ttft, decode_step, whole;
};
// Of the rows that are held out, or of the others. A prompt's TTFT counts once.
RunErrors run_errors(const std::vector<RunPrediction>& predictions, bool held_out);

}  // namespace orthros
