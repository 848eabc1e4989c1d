// CacheMemory: addresses for all of a cache, memory for all of it or for parts.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

namespace orthros::cuda {

// Bytes at one address each. Movable only.
class CacheMemory {
 public:
  CacheMemory() = default;
  // Memory behind every address, or, `sparse`, behind none yet.
  CacheMemory(int64_t bytes, bool sparse);
  CacheMemory(CacheMemory&& other) noexcept { swap(other); }
  CacheMemory& operator=(CacheMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~CacheMemory();

  uint8_t* data() const { return data_; }
  int64_t size() const { return size_; }
  int64_t taken() const { return taken_; }  // bytes of memory
  // Puts memory behind [first, first + count) and what shares its pages, where there is none;
  // zeros, for what follows in `stream`. Throws DeviceError where none is left.
  void hold(int64_t first, int64_t count, cudaStream_t stream);

 private:
  void swap(CacheMemory& other) noexcept;

  uint8_t* data_ = nullptr;
  int64_t size_ = 0;
  int64_t taken_ = 0;
  bool sparse_ = false;
  int64_t reserved_ = 0;     // bytes of addresses
  std::vector<bool> pages_;  // which have memory
  struct Piece {
    int64_t first;  // byte
    int64_t bytes;
    unsigned long long handle;
  };
  std::vector<Piece> pieces_;
};

}  // namespace orthros::cuda
