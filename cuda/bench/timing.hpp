// Times of device work by events, medians, and the state of the device's clocks.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "cuda/support/cuda_error.hpp"

namespace orthros::cuda {

class Event {
 public:
  Event() { ORTHROS_CUDA(cudaEventCreate(&event_)); }
  Event(Event&& other) noexcept : event_(other.event_) { other.event_ = nullptr; }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  void record(cudaStream_t stream) { ORTHROS_CUDA(cudaEventRecord(event_, stream)); }
  // Seconds from `start` to this, once both have happened.
  double since(const Event& start) const {
    ORTHROS_CUDA(cudaEventSynchronize(event_));
    float milliseconds = 0.0f;
    ORTHROS_CUDA(cudaEventElapsedTime(&milliseconds, start.event_, event_));
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// Seconds that `work` keeps the stream busy.
template <class Work>
double seconds_of(const Work& work, cudaStream_t stream) {
  Event start;
  Event end;
  start.record(stream);
  work();
  end.record(stream);
  return end.since(start);
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

// Median of `times` launches after the device has been idle: what a burst gets.
template <class Work>
double burst_seconds(const Work& work, int times, cudaStream_t stream) {
  work();
  std::vector<double> all;
  for (int i = 0; i < times; ++i) all.push_back(seconds_of(work, stream));
  return median(all);
}

// Mean over launches that follow each other for `duration` seconds, with clocks that such work
// gets.
template <class Work>
double sustained_seconds(const Work& work, double duration, cudaStream_t stream) {
  work();
  const double once = seconds_of(work, stream);
  const int64_t batch = std::max<int64_t>(1, static_cast<int64_t>(0.25 * duration / once));
  double last = 0.0;
  for (double spent = 0.0; spent < duration;) {
    last = seconds_of(
        [&] {
          for (int64_t i = 0; i < batch; ++i) work();
        },
        stream);
    spent += last;
  }
  return last / static_cast<double>(batch);
}

// What nvidia-smi says now of the current device; absent where it says nothing.
struct Clocks {
  std::optional<double> sm_mhz;
  std::optional<double> power_w;
};
Clocks read_clocks();

// A time, and the clocks right behind it.
struct Timed {
  double seconds = 0.0;
  Clocks clocks;
};
// Reads the clocks now.
Timed just_timed(double seconds);

}  // namespace orthros::cuda
