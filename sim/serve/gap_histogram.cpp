// Bins gaps and finds their quantiles.
#include "sim/serve/gap_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace orthros {
namespace {

constexpr int mantissa_bits = 52;
constexpr int exponent_bias = 1023;

}  // namespace

// The leading bits of a positive double grow with it: its exponent, then equal parts of the octave.
size_t GapHistogram::bin_of(double seconds) {
  const double clamped = std::clamp(seconds, std::ldexp(1.0, lowest_exponent),
                                    std::nextafter(std::ldexp(1.0, highest_exponent), 0.0));
  constexpr int dropped = mantissa_bits - bins_per_octave_log2;
  constexpr uint64_t first = uint64_t{exponent_bias + lowest_exponent} << bins_per_octave_log2;
  return static_cast<size_t>((std::bit_cast<uint64_t>(clamped) >> dropped) - first);
}

void GapHistogram::add_to(size_t bin, double sum, int64_t count) {
  bins_[bin].sum += sum;
  bins_[bin].count += count;
  count_ += count;
}

void GapHistogram::add_run(const StepCost& cost, const DecodeLoad& load, int64_t steps,
                           double seconds, int64_t sequences) {
  if (sequences == 0 || steps == 0) return;
  const auto weight = static_cast<double>(sequences);
  if (steps == 1) return add(seconds, sequences);
  // Contexts only grow, so a run's steps take longer and longer.
  const auto step_bin = [&](int64_t step) { return bin_of(cost.seconds({}, load.after(step))); };
  const size_t last = step_bin(steps - 1);
  int64_t from = 0;
  double before = 0.0;
  for (size_t bin = step_bin(0); bin < last; bin = step_bin(from)) {
    int64_t inside = from;  // the last step known to be in this bin, and one known to be past it
    int64_t past = steps - 1;
    while (past - inside > 1) {
      const int64_t middle = inside + (past - inside) / 2;
      (step_bin(middle) <= bin ? inside : past) = middle;
    }
    const double until = cost.decode_seconds(load, past);
    add_to(bin, (until - before) * weight, (past - from) * sequences);
    from = past;
    before = until;
  }
  add_to(last, (seconds - before) * weight, (steps - from) * sequences);
}

std::optional<double> GapHistogram::mean() const {
  if (count_ == 0) return std::nullopt;
  double sum = 0.0;
  for (const Bin& bin : bins_) sum += bin.sum;
  return sum / static_cast<double>(count_);
}

std::optional<double> GapHistogram::quantile(double p) const {
  if (count_ == 0) return std::nullopt;
  const auto rank = static_cast<int64_t>(std::ceil(p * static_cast<double>(count_)));
  int64_t seen = 0;
  for (const Bin& bin : bins_) {
    seen += bin.count;
    if (bin.count > 0 && seen >= rank) return bin.sum / static_cast<double>(bin.count);
  }
  return std::nullopt;
}

}  // namespace orthros
