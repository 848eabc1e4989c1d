// Levenberg-Marquardt with Eigen.
#include "sim/least_squares.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace orthros {
namespace {

Eigen::MatrixXd jacobian(const Residuals& residuals, const Eigen::VectorXd& at,
                         const Eigen::VectorXd& value, double relative_step) {
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

Eigen::VectorXd least_squares(const Residuals& residuals, Eigen::VectorXd at, int iterations,
                              double relative_step) {
  Eigen::VectorXd value = residuals(at);
  double cost = value.squaredNorm();
  double damping = 1e-3;
  for (int i = 0; i < iterations; ++i) {
    const Eigen::MatrixXd columns = jacobian(residuals, at, value, relative_step);
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

double damped_error(double error, double delta) {
  const double scaled = error / delta;
  return std::copysign(delta * std::sqrt(2.0 * (std::sqrt(1.0 + scaled * scaled) - 1.0)), error);
}

std::vector<size_t> shuffled_indices(size_t n) {
  std::vector<size_t> order(n);
  for (size_t i = 0; i < n; ++i) order[i] = i;
  std::mt19937_64 random(20261009);  // std::shuffle's order is not specified, so it is drawn here
  for (size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
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
