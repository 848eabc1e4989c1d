// Nonlinear least squares by Levenberg-Marquardt, and the statistics of its errors.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

namespace orthros {

// Residuals at a parameter vector.
using Residuals = std::function<Eigen::VectorXd(const Eigen::VectorXd&)>;

// Minimises the sum of squared residuals from `start`; forward-difference Jacobian. Deterministic.
Eigen::VectorXd least_squares(const Residuals& residuals, Eigen::VectorXd start,
                              int iterations = 200);

// Of absolute relative errors.
struct ErrorSummary {
  int64_t rows = 0;
  double median = 0.0;
  double p90 = 0.0;
  double mean = 0.0;
};
// p90: the smallest error that at least 90 % of rows do not exceed. Empty input gives zeros.
ErrorSummary summarize(std::vector<double> absolute_errors);

}  // namespace orthros
