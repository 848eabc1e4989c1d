// CacheMemory: addresses for all of a cache, memory for all of it or for parts.
#pragma once

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
  // Puts memory, zeros, behind [first, first + count) and what shares its pages, where there is
  // none. Throws DeviceError where none is left.
  void hold(int64_t first, int64_t count);

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

// Bytes of a sparse cache's page.
int64_t cache_page_bytes();

}  // namespace orthros::cuda
