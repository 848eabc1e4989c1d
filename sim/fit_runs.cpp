// The family of an engine's profiles and its fit.
#include "sim/fit_runs.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <tuple>

#include "reference/spec/input_error.hpp"

namespace orthros {
namespace {

// The free numbers in the order in which they are asked for: positive, as logarithms. Without
// values it gives the starts, and collects them.
class Numbers {
 public:
  Numbers() = default;
  explicit Numbers(const Eigen::VectorXd& logs) : logs_(&logs) {}

  double operator()(double start) {
    starts_.push_back(std::log(start));
    const auto i = static_cast<Eigen::Index>(starts_.size()) - 1;
    return logs_ != nullptr ? std::exp((*logs_)[i]) : start;
  }
  Eigen::VectorXd starts() const {
    return Eigen::Map<const Eigen::VectorXd>(starts_.data(),
                                             static_cast<Eigen::Index>(starts_.size()));
  }

 private:
  const Eigen::VectorXd* logs_ = nullptr;
  std::vector<double> starts_;
};

// Sums of what computes and what moves, where neither hides the other.
constexpr double additive = 1.0;

Law products(Numbers& number) {
  Law law;
  law.launch_s = number(2e-6);
  law.rate = number(0.8);
  law.bandwidth = 0.9;
  law.power = number(1.2);
  return law;
}

// Products that read their weights once for a few rows; what they compute hides behind that.
SpecialLaw few_rows(Numbers& number, int64_t up_to_rows, double bandwidth) {
  SpecialLaw special;
  special.kind = OpKind::gemm;
  special.up_to_rows = up_to_rows;
  special.law.launch_s = number(1e-6);
  special.law.bandwidth = number(bandwidth);
  return special;
}

Law full_attention(Numbers& number) {
  Law law;
  law.launch_s = number(2e-5);
  law.rate = number(0.2);
  law.bandwidth = number(0.1);
  law.overlap_loss = additive;
  law.power = number(0.7);
  return law;
}

SpecialLaw window_attention(Numbers& number) {
  SpecialLaw special;
  special.kind = OpKind::prefill_attention;
  special.windowed = true;
  special.law.launch_s = number(5e-6);
  special.law.bandwidth = number(0.65);
  special.law.power = 1.0;
  return special;
}

Law decode_attention(Numbers& number) {
  Law law;
  law.launch_s = number(8e-6);
  law.bandwidth = number(0.86);
  law.per_sequence_s = number(3e-7);
  law.overlap_loss = additive;
  return law;
}

Law elementwise(Numbers& number) {
  Law law;
  law.launch_s = number(8e-6);
  law.bandwidth = number(0.85);
  law.power = 0.8;
  return law;
}

struct Candidate {
  Profile profile;
  double event_s = 0.0;  // what an event between ops costs the launch behind it
};

Candidate assemble(Numbers& number, int64_t pass_tokens) {
  Candidate candidate;
  Profile& profile = candidate.profile;
  profile.law(OpKind::gemm) = products(number);
  profile.special.push_back(few_rows(number, 32, 0.9));
  profile.special.push_back(few_rows(number, 64, 0.5));
  profile.special.push_back(few_rows(number, 256, 0.6));
  profile.law(OpKind::prefill_attention) = full_attention(number);
  profile.special.push_back(window_attention(number));
  profile.law(OpKind::decode_attention) = decode_attention(number);
  profile.law(OpKind::elementwise) = elementwise(number);
  profile.step.per_step_s = number(5e-5);
  profile.step.per_token_s = 3.6e-8;  // 0.3 ms between two passes of 8192 rows
  profile.pass_tokens = pass_tokens;
  candidate.event_s = number(1e-6);
  return candidate;
}

// What a profile says of every architecture of a table.
class Costs {
 public:
  Costs(const std::map<std::string, CountModel>& models, const Profile& profile,
        const Hardware& hardware)
      : hardware_(hardware) {
    for (const auto& [arch, model] : models) {
      costs_.try_emplace(arch, model, Deployment{}, profile, hardware);
    }
  }
  CostLatency latency(const MeasuredRun& run) const {
    return cost_point(costs_.at(run.arch), hardware_, run.request).latency;
  }
  std::map<std::string, double> groups(const MeasuredOps& ops) const {
    std::map<std::string, double> seconds;
    for (const CostOp& line : cost_ops(costs_.at(ops.arch), ops.request)) {
      if (line.stage == ops.stage) seconds[op_group(line.op.name)] += line.seconds;
    }
    return seconds;
  }

 private:
  const Hardware& hardware_;
  std::map<std::string, StepCost> costs_;
};

std::map<std::string, CountModel> models_of(const std::vector<MeasuredRun>& runs,
                                            const ModelSpec& spec) {
  std::map<std::string, CountModel> models;
  for (const MeasuredRun& run : runs) {
    if (!models.contains(run.arch)) models.emplace(run.arch, run_model(spec, run.arch));
  }
  return models;
}

// TTFT does not depend on the answer's length, so that rows of one prompt share it.
using Prompt = std::tuple<std::string, int64_t, int64_t>;
Prompt prompt_of(const MeasuredRun& run) {
  return {run.arch, run.request.input, run.request.batch};
}

std::vector<double> residuals_of(const std::vector<MeasuredRun>& runs,
                                 const std::vector<MeasuredOps>& ops, const Costs& costs,
                                 double event_s) {
  constexpr double outlier = 0.05;
  constexpr double op_weight = 0.5;
  std::vector<double> all;
  std::set<Prompt> seen;
  for (const MeasuredRun& run : runs) {
    const CostLatency latency = costs.latency(run);
    const auto add = [&](double predicted, double measured) {
      all.push_back(damped_error(predicted / measured - 1.0, outlier));
    };
    if (run.ttft_s && seen.insert(prompt_of(run)).second) add(latency.ttft_s, *run.ttft_s);
    if (run.decode_step_s) add(*latency.decode_step_s, *run.decode_step_s);
  }
  for (const MeasuredOps& one : ops) {
    const auto predicted = costs.groups(one);
    for (const auto& [group, time] : one.groups) {
      const auto found = predicted.find(group);
      const double kernels = found == predicted.end() ? 0.0 : found->second;
      const double seconds = kernels + event_s * static_cast<double>(time.launches);
      all.push_back(op_weight * damped_error(seconds / time.seconds - 1.0, outlier));
    }
  }
  return all;
}

template <class Row>
std::vector<Row> fitted_rows(const std::vector<Row>& rows) {
  std::vector<Row> fitted;
  for (const Row& row : rows) {
    if (!row.held_out) fitted.push_back(row);
  }
  return fitted;
}

}  // namespace

RunFit fit_runs(const std::vector<MeasuredRun>& all_runs, const std::vector<MeasuredOps>& all_ops,
                const ModelSpec& spec, const Hardware& hardware) {
  const std::vector<MeasuredRun> runs = fitted_rows(all_runs);
  const std::vector<MeasuredOps> ops = fitted_rows(all_ops);
  if (runs.empty()) throw InputError("--runs", "use", "expected rows to fit");
  const int64_t pass_tokens = runs.front().chunk;
  const std::map<std::string, CountModel> models = models_of(all_runs, spec);
  for (const MeasuredOps& one : ops) {
    if (!models.contains(one.arch)) {
      throw InputError("--runs", "arch", fmt::format("expected runs of {}", one.arch));
    }
  }
  Numbers asked;
  assemble(asked, pass_tokens);
  const Eigen::VectorXd start = asked.starts();
  const Residuals residuals = [&](const Eigen::VectorXd& logs) {
    Numbers number(logs);
    const Candidate candidate = assemble(number, pass_tokens);
    const std::vector<double> errors =
        residuals_of(runs, ops, Costs(models, candidate.profile, hardware), candidate.event_s);
    // A weak pull to the start keeps what the rows do not determine at rest.
    constexpr double ridge = 0.003;
    const auto n = static_cast<Eigen::Index>(errors.size());
    Eigen::VectorXd all(n + logs.size());
    all.head(n) = Eigen::Map<const Eigen::VectorXd>(errors.data(), n);
    all.tail(logs.size()) = ridge * (logs - start);
    return all;
  };
  const Eigen::VectorXd begin = residuals(start);
  RunFit fit;
  fit.runs = static_cast<int64_t>(runs.size());
  fit.parameters = start.size() - 1;  // the event's cost is not the profile's
  fit.op_times = begin.size() - start.size();
  if (fit.op_times < 2 * start.size()) {
    throw InputError(
        "--runs", "",
        fmt::format("expected at least {} figures to fit, got {}", 2 * start.size(), fit.op_times));
  }
  for (const MeasuredRun& run : runs) fit.op_times -= run.decode_step_s ? 1 : 0;
  std::set<Prompt> prompts;
  for (const MeasuredRun& run : runs) {
    if (run.ttft_s) prompts.insert(prompt_of(run));
  }
  fit.op_times -= static_cast<int64_t>(prompts.size());
  const Eigen::VectorXd solution = least_squares(residuals, start);
  Numbers number(solution);
  fit.profile = assemble(number, pass_tokens).profile;
  return fit;
}

std::vector<RunPrediction> predict_runs(const std::vector<MeasuredRun>& runs, const ModelSpec& spec,
                                        const Profile& profile, const Hardware& hardware) {
  const Costs costs(models_of(runs, spec), profile, hardware);
  std::vector<RunPrediction> predictions;
  for (const MeasuredRun& run : runs) predictions.push_back({&run, costs.latency(run)});
  return predictions;
}

RunErrors run_errors(const std::vector<RunPrediction>& predictions, bool held_out) {
  RunErrors errors;
  std::set<Prompt> seen;
  for (const RunPrediction& one : predictions) {
    const MeasuredRun& run = *one.run;
    if (run.held_out != held_out) continue;
    if (run.ttft_s && seen.insert(prompt_of(run)).second) {
      errors.ttft.push_back(one.latency.ttft_s / *run.ttft_s - 1.0);
    }
    if (run.decode_step_s) {
      errors.decode_step.push_back(*one.latency.decode_step_s / *run.decode_step_s - 1.0);
    }
    errors.whole.push_back(run.e2e_s ? one.latency.e2e_s / *run.e2e_s - 1.0
                                     : errors.decode_step.back());
  }
  return errors;
}

}  // namespace orthros
