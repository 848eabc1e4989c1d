// Levenberg-Marquardt with Eigen.
#include "sim/least_squares.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace orthros {
namespace {

Eigen::MatrixXd jacobian(const Residuals& residuals, const Eigen::VectorXd& at,
                         const Eigen::VectorXd& value) {
  constexpr double relative_step = 1e-6;
  Eigen::MatrixXd columns(value.size(), at.size());
  for (Eigen::Index i = 0; i < at.size(); ++i) {
    Eigen::VectorXd moved = at;
    const double step = relative_step * std::max(1.0, std::abs(at[i]));
    moved[i] += step;
    columns.col(i) = (residuals(moved) - value) / step;
  }
  return columns;
}

}  // namespace

Eigen::VectorXd least_squares(const Residuals& residuals, Eigen::VectorXd at, int iterations) {
  Eigen::VectorXd value = residuals(at);
  double cost = value.squaredNorm();
  double damping = 1e-3;
  for (int i = 0; i < iterations; ++i) {
    const Eigen::MatrixXd columns = jacobian(residuals, at, value);
    const Eigen::MatrixXd normal = columns.transpose() * columns;
    const Eigen::VectorXd gradient = columns.transpose() * value;
    bool moved = false;
    constexpr double most_damping = 1e12;
    while (!moved && damping < most_damping) {
      Eigen::MatrixXd damped = normal;
      damped.diagonal() += damping * (normal.diagonal().array() + 1e-12).matrix();
      const Eigen::VectorXd candidate = at - damped.ldlt().solve(gradient);
      const Eigen::VectorXd there = residuals(candidate);
      const double new_cost = there.squaredNorm();
      if (std::isfinite(new_cost) && new_cost < cost) {
        const bool settled = cost - new_cost < 1e-13 * cost;
        at = candidate;
        value = there;
        cost = new_cost;
        damping = std::max(damping / 5.0, 1e-12);
        moved = true;
        if (settled) return at;
      } else {
        damping *= 4.0;
      }
    }
    if (!moved) return at;
  }
  return at;
}

ErrorSummary summarize(std::vector<double> errors) {
  ErrorSummary summary;
  if (errors.empty()) return summary;
  std::sort(errors.begin(), errors.end());
  const size_t n = errors.size();
  summary.rows = static_cast<int64_t>(n);
  summary.median = n % 2 == 1 ? errors[n / 2] : (errors[n / 2 - 1] + errors[n / 2]) / 2.0;
  summary.p90 = errors[static_cast<size_t>(std::ceil(0.9 * static_cast<double>(n))) - 1];
  for (double error : errors) summary.mean += error;
  summary.mean /= static_cast<double>(n);
  return summary;
}

}  // namespace orthros
