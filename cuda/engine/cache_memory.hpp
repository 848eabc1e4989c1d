// CacheMemory: addresses for all of a cache, memory for all of it or for parts.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "cuda/layout/rows.hpp"

namespace orthros::cuda {

// bf16 values at one address each. Movable only.
class CacheMemory {
 public:
  CacheMemory() = default;
  // Memory behind every address, or, `sparse`, behind none yet.
  CacheMemory(int64_t elements, bool sparse);
  CacheMemory(CacheMemory&& other) noexcept { swap(other); }
  CacheMemory& operator=(CacheMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~CacheMemory();

  bf16_bits* data() const { return data_; }
  int64_t size() const { return elements_; }
  int64_t bytes() const { return backed_; }  // of memory taken
  // Puts memory behind [first, first + count) and what shares its pages, where there is none;
  // zeros, for what follows in `stream`. Throws DeviceError where none is left.
  void hold(int64_t first, int64_t count, cudaStream_t stream);

 private:
  void swap(CacheMemory& other) noexcept;

  bf16_bits* data_ = nullptr;
  int64_t elements_ = 0;
  int64_t backed_ = 0;
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
