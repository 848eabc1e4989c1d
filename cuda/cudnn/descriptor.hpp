// Descriptor: one of cuDNN's backend descriptors, with an owner.
#pragma once

#include <initializer_list>
#include <span>
#include <utility>

#include "cuda/cudnn/library.hpp"

namespace orthros::cuda {

// The attribute type by which cuDNN is told of values of T.
template <class T>
extern const cudnnBackendAttributeType_t attribute_type;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type<bool> = CUDNN_TYPE_BOOLEAN;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type<int64_t> = CUDNN_TYPE_INT64;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type<void*> = CUDNN_TYPE_VOID_PTR;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type<cudnnHandle_t> = CUDNN_TYPE_HANDLE;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type<cudnnBackendHeurMode_t> =
    CUDNN_TYPE_HEUR_MODE;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type<cudnnPointwiseMode_t> =
    CUDNN_TYPE_POINTWISE_MODE;
template <>
inline constexpr cudnnBackendAttributeType_t attribute_type<cudnnReduceTensorOp_t> =
    CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;

// Movable only; `library` must outlive it.
class Descriptor {
 public:
  Descriptor(const CudnnLibrary& library, cudnnBackendDescriptorType_t type) : library_(&library) {
    library.require_success(library.create_descriptor(type, &descriptor_),
                            "cudnnBackendCreateDescriptor");
  }
  Descriptor(Descriptor&& other) noexcept
      : library_(other.library_), descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (descriptor_ != nullptr) library_->destroy_descriptor(descriptor_);
  }

  cudnnBackendDescriptor_t get() const { return descriptor_; }

  template <class T>
  void set(cudnnBackendAttributeName_t name, std::span<const T> values) {
    set(name, attribute_type<T>, static_cast<int64_t>(values.size()), values.data());
  }
  template <class T>
  void set(cudnnBackendAttributeName_t name, std::initializer_list<T> values) {
    set(name, std::span<const T>(values.begin(), values.size()));
  }
  template <class T>
  void set(cudnnBackendAttributeName_t name, T value) {
    set(name, std::span<const T>(&value, 1));
  }
  // cuDNN's name for a descriptor is that for a pointer, so these have names of their own.
  void refer(cudnnBackendAttributeName_t name, std::span<const cudnnBackendDescriptor_t> others) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(others.size()), others.data());
  }
  void refer(cudnnBackendAttributeName_t name, const Descriptor& other) {
    refer(name, std::span<const cudnnBackendDescriptor_t>(&other.descriptor_, 1));
  }

  void finalize(const char* what) {
    library_->require_success(library_->finalize(descriptor_), what);
  }

 private:
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
           const void* values) {
    library_->require_success(library_->set_attribute(descriptor_, name, type, count, values),
                              "cudnnBackendSetAttribute");
  }

  const CudnnLibrary* library_;
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace orthros::cuda
