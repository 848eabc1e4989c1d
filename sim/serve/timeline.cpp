// Spreads quantities over buckets of time.
#include "sim/serve/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace orthros {

void TimeSeries::widen(double width) {
  while (width_ < width) {
    width_ *= 2.0;
    for (size_t i = 0; i < used_; i += 2) {
      integrals_[i / 2] = integrals_[i] + (i + 1 < used_ ? integrals_[i + 1] : 0.0);
    }
    const size_t kept = (used_ + 1) / 2;
    std::fill(integrals_.begin() + static_cast<std::ptrdiff_t>(kept),
              integrals_.begin() + static_cast<std::ptrdiff_t>(used_), 0.0);
    used_ = kept;
  }
}

void TimeSeries::add(double from, double to, double value) {
  if (to <= from) return;
  if (integrals_.empty()) integrals_.resize(most_buckets);
  while (to > width_ * static_cast<double>(most_buckets)) widen(2.0 * width_);
  const auto bucket = [&](double at) {
    return std::min(static_cast<size_t>(at / width_), most_buckets - 1);
  };
  const size_t last = bucket(to);
  used_ = std::max(used_, last + 1);
  for (size_t i = bucket(from); i <= last; ++i) {
    const double start = std::max(from, static_cast<double>(i) * width_);
    const double end = std::min(to, static_cast<double>(i + 1) * width_);
    if (end > start) integrals_[i] += (end - start) * value;
  }
}

void TimeSeries::add(const TimeSeries& other) {
  TimeSeries same = other;
  same.widen(width_);
  widen(same.width_);
  if (integrals_.empty()) integrals_.resize(most_buckets);
  used_ = std::max(used_, same.used_);
  for (size_t i = 0; i < same.used_; ++i) integrals_[i] += same.integrals_[i];
}

std::vector<double> TimeSeries::means() const {
  std::vector<double> means(integrals_.begin(),
                            integrals_.begin() + static_cast<std::ptrdiff_t>(used_));
  for (double& mean : means) mean /= width_;
  return means;
}

double TimeSeries::integral() const {
  return std::accumulate(integrals_.begin(), integrals_.end(), 0.0);
}

Timeline timeline_of(TimeSeries waiting, TimeSeries running, TimeSeries kv_bytes) {
  Timeline timeline;
  timeline.bucket_s = std::max({waiting.bucket_s(), running.bucket_s(), kv_bytes.bucket_s()});
  const auto means = [&](TimeSeries& series) {
    series.widen(timeline.bucket_s);
    return series.means();
  };
  timeline.waiting = means(waiting);
  timeline.running = means(running);
  timeline.kv_bytes = means(kv_bytes);
  const size_t longest =
      std::max({timeline.waiting.size(), timeline.running.size(), timeline.kv_bytes.size()});
  for (auto* series : {&timeline.waiting, &timeline.running, &timeline.kv_bytes}) {
    series->resize(longest);
  }
  return timeline;
}

}  // namespace orthros
