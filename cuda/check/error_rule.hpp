// How far from double the engine may be.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace orthros::cuda {

// Error of values against exact ones: the largest, the mean, and whether any is no number.
struct Error {
  double most = 0.0;
  double mean = 0.0;
  bool finite = true;
};
Error error_of(std::span<const double> values, std::span<const double> exact);

// The rule of DESIGN section 4 over one kind of value (logits, keys or values of a case):
//   engine error <= 2 x the bf16 reference's own error + slack, in max and in mean.
//
// Slack. Engine and bf16 reference round at the same points, but sum in unlike orders, so a sum
// that lies near the middle between two bf16 numbers may be rounded up in one and down in the
// other. How such roundings add up over layers is what the factor of 2 is for. What it cannot cover
// is a case so small that the bf16 reference happens to be right: its own error is then no measure.
// There one rounding to bf16 must be allowed on its own account. For a cache entry it is the
// entry's own: bf16 has 8 significant bits, so it moves the entry by at most 2^-8 of itself. For
// logits it is that of the last norm's result n: logit = sum n_i W_i, each n_i moved by at most
// 2^-8 of itself, which moves the logit by no more than 2^-8 of itself where all n_i move alike,
// and by less where they do not. So the slack in max is 2^-8 of the largest exact value. A
// rounding's error is spread evenly, so that its mean is half of its maximum: the slack in mean is
// 2^-9 of the mean exact value.
struct ErrorLimit {
  double most = 0.0;
  double mean = 0.0;
};
ErrorLimit error_limit(const Error& bf16, std::span<const double> exact);

// No value that is no number, and both within the limit.
bool within(const Error& engine, const ErrorLimit& limit);

// Rows of `exact` whose largest value is more than `margin` above the second, with its place; -1
// for the other rows. Values: rows x `width`.
std::vector<int64_t> certain_largest(std::span<const double> exact, int64_t width, double margin);

}  // namespace orthros::cuda
