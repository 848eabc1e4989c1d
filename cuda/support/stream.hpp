// Streams and marks in them, with owners.
#pragma once

#include "cuda/support/cuda_error.hpp"

namespace orthros::cuda {

class Stream {
 public:
  Stream() { ORTHROS_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// A place in a stream that another can wait for.
class Mark {
 public:
  Mark() { ORTHROS_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  ~Mark() { cudaEventDestroy(event_); }
  void set(cudaStream_t stream) { ORTHROS_CUDA(cudaEventRecord(event_, stream)); }
  // What follows in `stream` waits until all is done that stood in front of the mark when it was
  // set.
  void hold_back(cudaStream_t stream) const { ORTHROS_CUDA(cudaStreamWaitEvent(stream, event_)); }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace orthros::cuda
