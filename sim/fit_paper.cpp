// Least squares over Table 4's fitted rows.
#include "sim/fit_paper.hpp"

#include <cmath>

#include "reference/spec/architecture.hpp"
#include "reference/spec/config.hpp"
#include "sim/least_squares.hpp"

namespace orthros {
namespace {

CountModel count_of(const PaperRow& row) {
  ArchitectureRequest request;
  request.name = row.arch;
  return count_model(to_architecture(load_model_spec(row.model), request));
}

enum Parameter { gemm_rate, attention_rate, overread, decode_bandwidth, per_step, parameters };

// Parameters are logarithms, so that every number stays positive.
Profile profile_of(const Eigen::VectorXd& logs) {
  const auto value = [&](Parameter which) { return std::exp(logs[which]); };
  Profile profile;
  Law gemm;
  gemm.rate = value(gemm_rate);
  gemm.bandwidth = 1.0;
  profile.law(OpKind::gemm) = gemm;
  Law prefill;
  prefill.rate = value(attention_rate);
  prefill.bandwidth = 1.0;
  prefill.window_overread = value(overread);
  profile.law(OpKind::prefill_attention) = prefill;
  Law decode;
  decode.rate = 1.0;
  decode.bandwidth = value(decode_bandwidth);
  profile.law(OpKind::decode_attention) = decode;
  Law scan;
  scan.rate = 1.0;
  scan.bandwidth = 1.0;
  profile.law(OpKind::recurrence) = scan;
  Law link;
  link.bandwidth = 1.0;
  profile.law(OpKind::communication) = link;
  profile.step.per_step_s = value(per_step);
  return profile;
}

}  // namespace

CostPoint predict(const PaperRow& row, const Profile& profile, const Hardware& hardware) {
  const StepCost cost(count_of(row), Deployment{}, profile, hardware);
  return cost_point(cost, hardware, row.request);
}

Profile fit_paper_profile(const PaperTable& table) {
  const Hardware hardware = load_hardware(table.hardware);
  std::vector<const PaperRow*> rows;
  std::vector<CountModel> models;
  for (const PaperRow& row : table.rows) {
    if (!row.fitted) continue;
    rows.push_back(&row);
    models.push_back(count_of(row));
  }
  const Residuals residuals = [&](const Eigen::VectorXd& logs) {
    const Profile profile = profile_of(logs);
    std::vector<double> errors;
    for (size_t i = 0; i < rows.size(); ++i) {
      const StepCost cost(models[i], Deployment{}, profile, hardware);
      const CostLatency latency = cost_point(cost, hardware, rows[i]->request).latency;
      if (rows[i]->ttft_s) errors.push_back(latency.ttft_s / *rows[i]->ttft_s - 1.0);
      errors.push_back(latency.e2e_s / rows[i]->e2e_s - 1.0);
      errors.push_back(*latency.decode_tokens_per_s / rows[i]->decode_tokens_per_s - 1.0);
    }
    return Eigen::VectorXd(
        Eigen::Map<Eigen::VectorXd>(errors.data(), static_cast<Eigen::Index>(errors.size())));
  };
  Eigen::VectorXd start(static_cast<Eigen::Index>(parameters));
  start << std::log(0.5), std::log(0.15), std::log(8192.0), std::log(0.22), std::log(2e-3);
  Profile profile = profile_of(least_squares(residuals, start));
  profile.description =
      "SGLang with Triton attention on one H100, as Table 4 of the paper measured it.";
  profile.caveat =
      "slow software, fitted on the 128K / 128 rows of Table 4 alone; long prompts at small batch";
  profile.fitted_on = table.hardware;
  profile.provenance = {
      {{"what",
        "gemm rate, prefill-attention rate and window overread, decode-attention "
        "bandwidth, step software: five numbers by least squares on relative errors"},
       {"from", table.source + ", " + table.title + ": every figure of the rows with output 128"},
       {"by", "orthros-sim fit --paper"}},
      {{"what", "every other rate and bandwidth is the hardware's own, not fitted"}}};
  return profile;
}

}  // namespace orthros
