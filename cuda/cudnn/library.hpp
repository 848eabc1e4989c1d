// CudnnLibrary: cuDNN's entry points, loaded by name.
#pragma once

#include <cudnn_graph.h>

#include <memory>
#include <string>

#include "cuda/support/cuda_error.hpp"

namespace orthros::cuda {

// The functions that a graph takes, of a library that stays loaded as long as this lives.
class CudnnLibrary {
 public:
  // `file`: as dlopen takes it. InputError where there is none, or it is not cuDNN 9.6
  // or a later 9.
  explicit CudnnLibrary(const char* file = "libcudnn.so.9");

  // "9.19.0"
  std::string version() const;
  // Throws DeviceError with the call's name and cuDNN's own words where it failed.
  void require_success(cudnnStatus_t status, const char* call) const;

 private:
  struct Close {
    void operator()(void* library) const;
  };
  template <class Function>
  Function* entry(const char* name) const;

  std::unique_ptr<void, Close> library_;
  decltype(&cudnnGetVersion) get_version_;
  decltype(&cudnnGetErrorString) get_error_string_;
  decltype(&cudnnGetLastErrorString) get_last_error_string_;

 public:
  decltype(&cudnnCreate) create;
  decltype(&cudnnDestroy) destroy;
  decltype(&cudnnSetStream) set_stream;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor;
  decltype(&cudnnBackendSetAttribute) set_attribute;
  decltype(&cudnnBackendGetAttribute) get_attribute;
  decltype(&cudnnBackendFinalize) finalize;
  decltype(&cudnnBackendExecute) execute;
};

}  // namespace orthros::cuda
