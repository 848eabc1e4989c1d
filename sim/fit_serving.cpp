// Fits what a server adds to its kernels.
#include "sim/fit_serving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reference/spec/config.hpp"
#include "reference/spec/input_error.hpp"
#include "reference/spec/scenario_files.hpp"

namespace orthros {
namespace {

// The preset that lists this name of the hub.
CountModel model_of(const std::string& hf_name, const CsvTable& table) {
  for (const std::string& preset : scenario_names("models")) {
    const ModelSpec spec = load_model_spec(preset);
    if (std::find(spec.hf_names.begin(), spec.hf_names.end(), hf_name) != spec.hf_names.end()) {
      return count_model(spec);
    }
  }
  throw InputError(
      table.file(), "model",
      fmt::format("expected a name that a preset's hf_names lists, got '{}'", hf_name));
}

std::string hardware_of(const std::string& system) {
  if (system == "h100_sxm") return "h100-sxm";
  if (system == "h200_sxm") return "h200";
  std::string name = system;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

int64_t positive(const CsvTable& table, size_t row, const char* column) {
  const int64_t value = table.integer(row, column);
  constexpr int64_t most = 1 << 24;
  if (value < 1 || value > most) {
    throw InputError(table.file(), column, fmt::format("expected 1 to {}, got {}", most, value));
  }
  return value;
}

double positive_ms(const CsvTable& table, size_t row, const char* column) {
  const double value = table.number(row, column);
  if (value <= 0.0) {
    throw InputError(table.file(), column, fmt::format("expected a positive time, got {}", value));
  }
  return value * 1e-3;
}

// Scales of the base's laws come first.
enum Parameter {
  gemm_rate,
  gemm_bandwidth,
  gemm_launch,
  decode_bandwidth,
  decode_launch,
  elementwise_bandwidth,
  link_bandwidth,
  law_scales,
  per_step = law_scales,
  per_sequence,
  per_prompt,
  per_prompt_group,
  link_latency,
  per_request,
  stream_token,
  burst,
  parameters
};

Eigen::VectorXd start() {
  Eigen::VectorXd x = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(parameters));
  x[per_step] = std::log(3e-4);
  x[per_sequence] = std::log(5e-6);
  x[per_prompt] = std::log(5e-4);
  x[per_prompt_group] = std::log(4e-3);
  x[link_latency] = std::log(6e-6);
  x[per_request] = std::log(15e-3);
  x[stream_token] = std::log(9e-5);
  x[burst] = std::log(0.13);
  return x;
}

// Logarithms: of scales of the base's laws, and of the software's seconds.
Profile profile_of(const Profile& base, const Eigen::VectorXd& logs) {
  const auto value = [&](Parameter which) { return std::exp(logs[which]); };
  Profile profile = base;
  Law& gemm = *profile.law(OpKind::gemm);
  gemm.rate *= value(gemm_rate);
  gemm.bandwidth *= value(gemm_bandwidth);
  gemm.launch_s *= value(gemm_launch);
  Law& decode = *profile.law(OpKind::decode_attention);
  decode.bandwidth *= value(decode_bandwidth);
  for (MemoryTier& tier : decode.tiers) tier.bandwidth *= value(decode_bandwidth);
  decode.launch_s *= value(decode_launch);
  profile.law(OpKind::elementwise)->bandwidth *= value(elementwise_bandwidth);
  Law& link = *profile.law(OpKind::communication);
  link.bandwidth *= value(link_bandwidth);
  link.latency_s = value(link_latency);
  profile.step.per_step_s = value(per_step);
  profile.step.per_sequence_s = value(per_sequence);
  profile.step.per_prompt_s = value(per_prompt);
  profile.step.per_prompt_group_s = value(per_prompt_group);
  profile.serving.per_request_s = value(per_request);
  profile.serving.stream_token_s = value(stream_token);
  profile.serving.idle_slots = 1;
  profile.serving.token_budget = 2048;
  profile.serving.burst_share = std::min(value(burst), 1.0);
  return profile;
}

Profile fit_once(const std::vector<MeasuredServer>& rows, const Profile& base) {
  const Eigen::VectorXd from = start();
  const Residuals residuals = [&](const Eigen::VectorXd& x) {
    const ServingErrors errors = serving_errors(rows, profile_of(base, x));
    // TPOT is measured more steadily than TTFT, which queueing moves.
    constexpr double tpot_weight = 3.0;
    constexpr double outlier = 0.1;  // queues near saturation jump
    // A pull to the start: weak on the software's seconds, strong on the scales of measured laws,
    // which must not stand in for it.
    constexpr double ridge = 0.05;
    constexpr double law_ridge = 1.0;
    const auto n = static_cast<Eigen::Index>(rows.size());
    Eigen::VectorXd all(2 * n + x.size());
    for (Eigen::Index i = 0; i < n; ++i) {
      const auto row = static_cast<size_t>(i);
      all[i] = damped_error(errors.ttft[row], outlier);
      all[n + i] = tpot_weight * damped_error(errors.tpot[row], outlier);
    }
    all.tail(x.size()) = ridge * (x - from);
    for (int scale = gemm_rate; scale < law_scales; ++scale) {
      all[2 * n + scale] = law_ridge * x[scale];
    }
    return all;
  };
  constexpr int iterations = 25;
  constexpr double relative_step = 1e-3;
  return profile_of(base, least_squares(residuals, from, iterations, relative_step));
}

}  // namespace

std::vector<MeasuredServer> measured_servers(const CsvTable& table) {
  std::map<std::string, CountModel> models;
  std::map<std::string, Hardware> systems;
  std::vector<MeasuredServer> rows;
  for (size_t row = 0; row < table.rows(); ++row) {
    const std::string& name = table.text(row, "model");
    if (models.count(name) == 0) models.emplace(name, model_of(name, table));
    const std::string& system = table.text(row, "system");
    if (systems.count(system) == 0) systems.emplace(system, load_hardware(hardware_of(system)));
    MeasuredServer server;
    server.model = models.at(name);
    server.hardware = systems.at(system);
    const std::string& weights = table.text(row, "weights");
    if (weights != "bf16" && weights != "fp8") {
      throw InputError(table.file(), "weights",
                       fmt::format("expected bf16 or fp8, got '{}'", weights));
    }
    server.deployment.weight_bytes = weights == "fp8" ? 1 : 2;
    server.deployment.tensor_parallel = positive(table, row, "tensor_parallel");
    server.load = {positive(table, row, "concurrency"), positive(table, row, "input_tokens"),
                   positive(table, row, "output_tokens")};
    server.ttft_s = positive_ms(table, row, "ttft_ms");
    server.tpot_s = positive_ms(table, row, "tpot_ms");
    rows.push_back(std::move(server));
  }
  return rows;
}

ServingErrors serving_errors(const std::vector<MeasuredServer>& rows, const Profile& profile) {
  ServingErrors errors;
  const size_t n = rows.size();
  errors.ttft.resize(n);
  errors.tpot.resize(n);
  errors.e2e.resize(n);
#pragma omp parallel for schedule(dynamic)
  for (size_t i = 0; i < n; ++i) {
    const MeasuredServer& row = rows[i];
    const StepCost cost(row.model, row.deployment, profile, row.hardware);
    const ClosedLoopTimes times = closed_loop(cost, profile.serving, row.load);
    errors.ttft[i] = times.ttft_s / row.ttft_s - 1.0;
    errors.tpot[i] = times.tpot_s / row.tpot_s - 1.0;
    errors.e2e[i] = times.e2e_s / row.e2e_s() - 1.0;
  }
  return errors;
}

ServingFit fit_serving(const std::vector<MeasuredServer>& rows, const Profile& base,
                       int64_t folds) {
  ServingFit fit;
  fit.parameters = parameters;
  if (static_cast<int64_t>(rows.size()) < 2 * fit.parameters) {
    throw InputError(
        "--table", "",
        fmt::format("expected at least {} rows, got {}", 2 * fit.parameters, rows.size()));
  }
  const std::vector<size_t> order = shuffled_indices(rows.size());
  ServingErrors& all = fit.cross_validated;
  for (auto* errors : {&all.ttft, &all.tpot, &all.e2e}) errors->resize(rows.size());
  for (int64_t fold = 0; fold < folds; ++fold) {
    std::vector<MeasuredServer> train, test;
    std::vector<size_t> held_out;
    for (size_t i = 0; i < order.size(); ++i) {
      const bool held = static_cast<int64_t>(i) % folds == fold;
      (held ? test : train).push_back(rows[order[i]]);
      if (held) held_out.push_back(order[i]);
    }
    const ServingErrors here = serving_errors(test, fit_once(train, base));
    for (size_t i = 0; i < held_out.size(); ++i) {
      all.ttft[held_out[i]] = here.ttft[i];
      all.tpot[held_out[i]] = here.tpot[i];
      all.e2e[held_out[i]] = here.e2e[i];
    }
  }
  fit.profile = fit_once(rows, base);
  return fit;
}

}  // namespace orthros
