// LaunchTimer: how long launches take.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>

#include "cuda/support/cuda_error.hpp"

namespace orthros::cuda {

// Runs at most.
inline constexpr size_t launches_timed = 3;

// Runs are graphs, so that the host's pace does not count.
class LaunchTimer {
 public:
  LaunchTimer() {
    ORTHROS_CUDA(cudaStreamCreate(&stream_));
    for (cudaEvent_t& mark : marks_) ORTHROS_CUDA(cudaEventCreate(&mark));
  }
  ~LaunchTimer() {
    for (const cudaEvent_t mark : marks_) cudaEventDestroy(mark);
    cudaStreamDestroy(stream_);
  }
  LaunchTimer(const LaunchTimer&) = delete;
  LaunchTimer& operator=(const LaunchTimer&) = delete;

  // The shortest of `times` runs, one behind the other, of what `record` launches into a stream.
  template <class Record>
  double microseconds(size_t times, const Record& record) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t launches = nullptr;
    ORTHROS_CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    record(stream_);
    ORTHROS_CUDA(cudaStreamEndCapture(stream_, &graph));
    ORTHROS_CUDA(cudaGraphInstantiate(&launches, graph, 0));
    ORTHROS_CUDA(cudaEventRecord(marks_[0], stream_));
    for (size_t i = 1; i <= times; ++i) {
      ORTHROS_CUDA(cudaGraphLaunch(launches, stream_));
      ORTHROS_CUDA(cudaEventRecord(marks_[i], stream_));
    }
    ORTHROS_CUDA(cudaStreamSynchronize(stream_));
    float best = 0.0f;
    for (size_t i = 1; i <= times; ++i) {
      float milliseconds = 0.0f;
      ORTHROS_CUDA(cudaEventElapsedTime(&milliseconds, marks_[i - 1], marks_[i]));
      if (i == 1 || milliseconds < best) best = milliseconds;
    }
    ORTHROS_CUDA(cudaGraphExecDestroy(launches));
    ORTHROS_CUDA(cudaGraphDestroy(graph));
    return 1000.0 * static_cast<double>(best);
  }

 private:
  cudaStream_t stream_ = nullptr;
  std::array<cudaEvent_t, launches_timed + 1> marks_{};
};

}  // namespace orthros::cuda
