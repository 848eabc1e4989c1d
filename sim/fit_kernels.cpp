// The families of laws and their fits.
#include "sim/fit_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/spec/input_error.hpp"

namespace orthros {
namespace {

using Powers = std::array<int, 3>;

// Which numbers of a law are free for a kind of kernel.
struct Family {
  std::vector<double> tier_ends;  // bytes; fixed, the bandwidths between them are free
  bool per_sequence = false;
  bool overread = false;
  bool compute = true;
  std::vector<Powers> shape_terms;

  Eigen::Index parameters() const {
    return static_cast<Eigen::Index>(3 + (compute ? 1 : 0) + tier_ends.size() +
                                     (per_sequence ? 2 : 0) + (overread ? 1 : 0) +
                                     shape_terms.size());
  }
};

Family family_of(OpKind kind) {
  switch (kind) {
    case OpKind::gemm:
      return {{},
              false,
              false,
              true,
              {{1, 0, 0},
               {2, 0, 0},
               {3, 0, 0},
               {4, 0, 0},
               {5, 0, 0},
               {0, 1, 0},
               {0, 2, 0},
               {0, 0, 1},
               {1, 1, 0},
               {1, 0, 1},
               {2, 1, 0},
               {2, 0, 1}}};
    case OpKind::prefill_attention:
      return {{},
              true,
              true,
              true,
              {{1, 0, 0},
               {2, 0, 0},
               {0, 1, 0},
               {0, 2, 0},
               {0, 3, 0},
               {0, 0, 1},
               {0, 0, 2},
               {1, 1, 0},
               {1, 0, 1},
               {0, 1, 1}}};
    case OpKind::decode_attention:
      return {{2e6, 8e6, 32e6, 64e6, 128e6, 512e6},
              true,
              true,
              false,
              {{1, 0, 0}, {2, 0, 0}, {3, 0, 0}}};
    default:
      throw InputError("--kind", "", "expected gemm, prefill-attention or decode-attention");
  }
}

double logistic(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

// Parameters: logarithms of positive numbers, the logit of overlap_loss, shape coefficients.
Law law_of(const Family& family, const Eigen::VectorXd& x, const ShapeFactor& range) {
  Law law;
  Eigen::Index i = 0;
  law.launch_s = std::exp(x[i++]);
  law.bandwidth = std::exp(x[i++]);
  law.overlap_loss = logistic(x[i++]);
  if (family.compute) law.rate = std::exp(x[i++]);
  for (double end : family.tier_ends) law.tiers.push_back({end, std::exp(x[i++])});
  if (family.per_sequence) {
    law.per_sequence_s = std::exp(x[i++]);
    law.free_sequences = std::exp(x[i++]);
  }
  if (family.overread) law.window_overread = std::exp(x[i++]);
  law.shape.lowest = range.lowest;
  law.shape.highest = range.highest;
  for (const Powers& powers : family.shape_terms) law.shape.terms.push_back({powers, x[i++]});
  return law;
}

Eigen::VectorXd start_of(const Family& family, const Hardware& hardware) {
  Eigen::VectorXd x(family.parameters());
  Eigen::Index i = 0;
  x[i++] = std::log(5e-6);
  x[i++] = std::log(0.9 * hardware.memory_bandwidth);
  x[i++] = -1.0;
  if (family.compute) x[i++] = std::log(0.75 * hardware.bf16_rate);
  for (size_t t = 0; t < family.tier_ends.size(); ++t) {
    x[i++] = std::log(hardware.memory_bandwidth);
  }
  if (family.per_sequence) {
    x[i++] = std::log(0.2e-6);
    x[i++] = std::log(12.0);
  }
  if (family.overread) x[i++] = std::log(64.0);
  for (size_t t = 0; t < family.shape_terms.size(); ++t) x[i++] = 0.0;
  return x;
}

ShapeFactor range_of(const std::vector<MeasuredKernel>& rows) {
  ShapeFactor range;
  range.lowest.fill(std::numeric_limits<double>::max());
  range.highest.fill(std::numeric_limits<double>::lowest());
  for (const MeasuredKernel& row : rows) {
    const std::array<double, 3> shape = shape_of(row.op);
    for (size_t i = 0; i < 3; ++i) {
      range.lowest[i] = std::min(range.lowest[i], shape[i]);
      range.highest[i] = std::max(range.highest[i], shape[i]);
    }
  }
  return range;
}

Law fit_law(const std::vector<MeasuredKernel>& rows, const Family& family,
            const Hardware& hardware) {
  const ShapeFactor range = range_of(rows);
  const Eigen::VectorXd start = start_of(family, hardware);
  const Residuals residuals = [&](const Eigen::VectorXd& x) {
    const std::vector<double> errors = relative_errors(rows, law_of(family, x, range));
    // A weak pull to the start keeps what the rows do not determine at rest.
    constexpr double ridge = 0.03;
    constexpr double outlier = 0.05;
    const auto n = static_cast<Eigen::Index>(errors.size());
    Eigen::VectorXd all(n + x.size());
    for (Eigen::Index i = 0; i < n; ++i) {
      all[i] = damped_error(errors[static_cast<size_t>(i)], outlier);
    }
    all.tail(x.size()) = ridge * (x - start);
    return all;
  };
  return law_of(family, least_squares(residuals, start), range);
}

}  // namespace

std::vector<double> relative_errors(const std::vector<MeasuredKernel>& rows, const Law& law) {
  std::vector<double> errors;
  errors.reserve(rows.size());
  for (const MeasuredKernel& row : rows) {
    errors.push_back(law.seconds(row.op) / row.seconds - 1.0);
  }
  return errors;
}

ErrorSummary absolute_summary(std::vector<double> errors) {
  for (double& error : errors) error = std::abs(error);
  return summarize(std::move(errors));
}

KernelFit fit_kernel(const std::vector<MeasuredKernel>& rows, OpKind kind, const Hardware& hardware,
                     int64_t folds) {
  const Family family = family_of(kind);
  KernelFit fit;
  fit.parameters = family.parameters();
  if (static_cast<int64_t>(rows.size()) < 2 * fit.parameters) {
    throw InputError(
        "--table", "",
        fmt::format("expected at least {} rows, got {}", 2 * fit.parameters, rows.size()));
  }
  const std::vector<size_t> order = shuffled_indices(rows.size());
  std::vector<double> errors;
  for (int64_t fold = 0; fold < folds; ++fold) {
    std::vector<MeasuredKernel> train, test;
    for (size_t i = 0; i < order.size(); ++i) {
      const bool held_out = static_cast<int64_t>(i) % folds == fold;
      (held_out ? test : train).push_back(rows[order[i]]);
    }
    const std::vector<double> here = relative_errors(test, fit_law(train, family, hardware));
    errors.insert(errors.end(), here.begin(), here.end());
  }
  fit.cross_validated = absolute_summary(errors);
  fit.law = fit_law(rows, family, hardware);
  fit.law.rate /= hardware.bf16_rate;
  fit.law.bandwidth /= hardware.memory_bandwidth;
  for (MemoryTier& tier : fit.law.tiers) tier.bandwidth /= hardware.memory_bandwidth;
  return fit;
}

}  // namespace orthros
