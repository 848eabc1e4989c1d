// GapHistogram: times between tokens, too many to keep one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/step_cost.hpp"

namespace orthros {

// Counts and sums in bins of equal width relative to their size: 256 for each factor of 2, from
// 2^-40 s to 2^24 s. Means are exact; a quantile is the mean of its bin, off by at most 0.4 %.
class GapHistogram {
 public:
  GapHistogram() : bins_(bin_count) {}

  void add(double seconds, int64_t count = 1) {
    add_to(bin_of(seconds), seconds * static_cast<double>(count), count);
  }

  // The gaps of `steps` decode steps of this load, together `seconds` long, for `sequences`
  // sequences; in closed form: only where a step's time passes from bin to bin is it looked up.
  void add_run(const StepCost& cost, const DecodeLoad& load, int64_t steps, double seconds,
               int64_t sequences);

  int64_t count() const { return count_; }
  std::optional<double> mean() const;
  // p in [0, 1]: of the smallest gap that at least a share p of all gaps do not exceed.
  std::optional<double> quantile(double p) const;

 private:
  struct Bin {
    double sum = 0.0;
    int64_t count = 0;
  };
  static constexpr int lowest_exponent = -40;
  static constexpr int highest_exponent = 24;
  static constexpr int bins_per_octave_log2 = 8;
  static constexpr size_t bin_count = size_t{highest_exponent - lowest_exponent}
                                      << bins_per_octave_log2;

  static size_t bin_of(double seconds);
  void add_to(size_t bin, double sum, int64_t count);

  std::vector<Bin> bins_;
  int64_t count_ = 0;
};

}  // namespace orthros
