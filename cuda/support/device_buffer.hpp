// DeviceBuffer: device memory with an owner.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cuda/support/cuda_error.hpp"

namespace orthros::cuda {

// `count` values of T in device memory, uninitialised unless said otherwise. Movable only.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(int64_t count) : count_(count) {
    if (count > 0) {
      ORTHROS_CUDA(cudaMalloc(reinterpret_cast<void**>(&data_), static_cast<size_t>(bytes())));
    }
  }
  explicit DeviceBuffer(std::span<const T> values)
      : DeviceBuffer(static_cast<int64_t>(values.size())) {
    copy_from(values);
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer() { cudaFree(data_); }

  T* data() const { return data_; }
  int64_t size() const { return count_; }
  int64_t bytes() const { return count_ * static_cast<int64_t>(sizeof(T)); }

  // Blocking copies of whole spans, `first` elements into the buffer.
  void copy_from(std::span<const T> values, int64_t first = 0) {
    ORTHROS_CUDA(
        cudaMemcpy(data_ + first, values.data(), values.size_bytes(), cudaMemcpyHostToDevice));
  }
  // In `stream`, from the buffer's start; `values` may go as soon as the call returns.
  void send(const std::vector<T>& values, cudaStream_t stream) const {
    ORTHROS_CUDA(cudaMemcpyAsync(data_, values.data(), values.size() * sizeof(T),
                                 cudaMemcpyHostToDevice, stream));
  }
  std::vector<T> to_host(int64_t first, int64_t count) const {
    std::vector<T> values(static_cast<size_t>(count));
    ORTHROS_CUDA(cudaMemcpy(values.data(), data_ + first, values.size() * sizeof(T),
                            cudaMemcpyDeviceToHost));
    return values;
  }
  std::vector<T> to_host() const { return to_host(0, count_); }
  void fill_bytes(int value) {
    ORTHROS_CUDA(cudaMemset(data_, value, static_cast<size_t>(bytes())));
  }

 private:
  void swap(DeviceBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
  }

  T* data_ = nullptr;
  int64_t count_ = 0;
};

}  // namespace orthros::cuda
