// Timeline: queue, batch and cache over time, in a bounded number of buckets.
#pragma once

#include <cstddef>
#include <vector>

namespace orthros {

// Time averages of a quantity over equal buckets from time 0. When time runs past the last of them
// the buckets are joined in pairs, so that memory is bounded whatever the duration.
class TimeSeries {
 public:
  static constexpr size_t most_buckets = 512;

  // `value` from `from` to `to`; 0 wherever nothing was added.
  void add(double from, double to, double value);
  void add(const TimeSeries& other);

  double bucket_s() const { return width_; }
  std::vector<double> means() const;  // to the last bucket in which something was added
  double integral() const;
  // Joins buckets until they are at least this wide: a power of two of the first width.
  void widen(double width);

 private:
  double width_ = 1.0 / 1024.0;
  size_t used_ = 0;
  std::vector<double> integrals_;
};

// All engines together. Bucket i covers [i, i + 1) x bucket_s; the vectors are equally long, at
// most TimeSeries::most_buckets.
struct Timeline {
  double bucket_s = 0.0;
  std::vector<double> waiting;   // requests
  std::vector<double> running;   // sequences in prefill and decode
  std::vector<double> kv_bytes;  // held by them, of one GPU of each engine
};

Timeline timeline_of(TimeSeries waiting, TimeSeries running, TimeSeries kv_bytes);

}  // namespace orthros
