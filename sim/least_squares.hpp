// Nonlinear least squares by Levenberg-Marquardt, and the statistics of its errors.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <vector>

namespace orthros {

// Residuals at a parameter vector.
using Residuals = std::function<Eigen::VectorXd(const Eigen::VectorXd&)>;

// Minimises the sum of squared residuals from `start`; Jacobian by forward differences of
// `relative_step`, which residuals with small jumps (event simulations) want larger. Deterministic.
Eigen::VectorXd least_squares(const Residuals& residuals, Eigen::VectorXd start,
                              int iterations = 200, double relative_step = 1e-6);

// Pseudo-Huber: an error whose square grows as the error's beyond `delta`, so that single outliers
// do not lead the fit.
double damped_error(double error, double delta);

// Of absolute relative errors.
struct ErrorSummary {
  int64_t rows = 0;
  double median = 0.0;
  double p90 = 0.0;
  double mean = 0.0;
};
// p90: the smallest error that at least 90 % of rows do not exceed. Empty input gives zeros.
ErrorSummary summarize(std::vector<double> absolute_errors);

// 0 .. n-1 in an order fixed by a seed: the rows of fold f of k are those at places f, f + k, ..
std::vector<size_t> shuffled_indices(size_t n);

}  // namespace orthros
