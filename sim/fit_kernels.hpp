// Fits a kernel kind's law to measured rows.
#pragma once

#include <string_view>
#include <vector>

#include "sim/hardware.hpp"
#include "sim/kernel_table.hpp"
#include "sim/law.hpp"
#include "sim/least_squares.hpp"

namespace orthros {

struct KernelFit {
  Law law;                 // fractions of the hardware's peak and bandwidth, as a Profile holds it
  int64_t parameters = 0;  // free numbers
  ErrorSummary cross_validated;
};

// Least squares on relative error, large errors damped (pseudo-Huber at 5 %: tables hold outliers);
// cross-validation by `folds` parts of the rows drawn with a fixed seed, each predicted by a fit to
// the others. Kinds: gemm, prefill_attention, decode_attention. Throws InputError for other kinds
// and for fewer rows than twice the parameters.
KernelFit fit_kernel(const std::vector<MeasuredKernel>& rows, OpKind kind, const Hardware& hardware,
                     int64_t folds = 5);

// Relative errors of a law (in FLOP/s and bytes/s) on rows.
std::vector<double> relative_errors(const std::vector<MeasuredKernel>& rows, const Law& law);
ErrorSummary absolute_summary(std::vector<double> errors);

}  // namespace orthros
