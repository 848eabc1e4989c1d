// Loads cuDNN.
#include "cuda/cudnn/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

#include "reference/spec/input_error.hpp"

namespace orthros::cuda {
namespace {

void* opened(const char* file) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const char* why = dlerror();
  throw InputError("cuDNN", "",
                   fmt::format("expected {} where the loader looks for libraries ({})", file,
                               why != nullptr ? why : "no reason given"));
}

}  // namespace

void CudnnLibrary::Close::operator()(void* library) const {
  dlclose(library);
}

template <class Function>
Function* CudnnLibrary::entry(const char* name) const {
  void* found = dlsym(library_.get(), name);
  if (found == nullptr) {
    throw InputError("cuDNN", "", fmt::format("expected a library with {}", name));
  }
  return reinterpret_cast<Function*>(found);
}

#define ORTHROS_ENTRY(name) entry<decltype(name)>(#name)
CudnnLibrary::CudnnLibrary(const char* file)
    : library_(opened(file)),
      get_version_(ORTHROS_ENTRY(cudnnGetVersion)),
      get_error_string_(ORTHROS_ENTRY(cudnnGetErrorString)),
      get_last_error_string_(ORTHROS_ENTRY(cudnnGetLastErrorString)),
      create(ORTHROS_ENTRY(cudnnCreate)),
      destroy(ORTHROS_ENTRY(cudnnDestroy)),
      set_stream(ORTHROS_ENTRY(cudnnSetStream)),
      create_descriptor(ORTHROS_ENTRY(cudnnBackendCreateDescriptor)),
      destroy_descriptor(ORTHROS_ENTRY(cudnnBackendDestroyDescriptor)),
      set_attribute(ORTHROS_ENTRY(cudnnBackendSetAttribute)),
      get_attribute(ORTHROS_ENTRY(cudnnBackendGetAttribute)),
      finalize(ORTHROS_ENTRY(cudnnBackendFinalize)),
      execute(ORTHROS_ENTRY(cudnnBackendExecute)) {
  constexpr size_t first = 90600;  // before, a causal mask of fewer rows than keys had limits
  constexpr size_t end = 100000;
  if (get_version_() < first || get_version_() >= end) {
    throw InputError("cuDNN", "",
                     fmt::format("expected version 9.6 or a later 9, got {}", version()));
  }
}
#undef ORTHROS_ENTRY

std::string CudnnLibrary::version() const {
  const size_t v = get_version_();
  return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

void CudnnLibrary::require_success(cudnnStatus_t status, const char* call) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 512> detail{};
  get_last_error_string_(detail.data(), detail.size());
  throw DeviceError(fmt::format("{}: {} ({})", call, get_error_string_(status), detail.data()));
}

}  // namespace orthros::cuda
