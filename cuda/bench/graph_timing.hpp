// Graphs of launches, timed in bursts.
#pragma once

#include <functional>

#include "cuda/bench/timing.hpp"
#include "cuda/support/stream.hpp"

namespace orthros::cuda {

// Seconds of a graph that holds `record`'s launches: the median of `times` after idling.
inline double graph_seconds(const std::function<void()>& record, int times, cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ORTHROS_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  record();
  ORTHROS_CUDA(cudaStreamEndCapture(stream, &graph));
  ORTHROS_CUDA(cudaGraphInstantiate(&executable, graph, 0));
  const double seconds =
      burst_seconds([&] { ORTHROS_CUDA(cudaGraphLaunch(executable, stream)); }, times, stream);
  ORTHROS_CUDA(cudaGraphExecDestroy(executable));
  ORTHROS_CUDA(cudaGraphDestroy(graph));
  return seconds;
}

}  // namespace orthros::cuda
