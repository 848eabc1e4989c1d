// Memory behind parts of an address range, through the driver's virtual memory calls, which the
// runtime finds.
#include "cuda/engine/cache_memory.hpp"

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>
#include <utility>

#include "cuda/support/cuda_error.hpp"

namespace orthros::cuda {
namespace {

template <class Function>
Function driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  ORTHROS_CUDA(cudaGetDriverEntryPointByVersion(name, &found, 10020, cudaEnableDefault, &result));
  if (result != cudaDriverEntryPointSuccess) {
    throw DeviceError(std::string("the driver has no ") + name);
  }
  return reinterpret_cast<Function>(found);
}

struct Driver {
  PFN_cuMemGetAllocationGranularity_v10020 granularity =
      driver_function<PFN_cuMemGetAllocationGranularity_v10020>("cuMemGetAllocationGranularity");
  PFN_cuMemAddressReserve_v10020 reserve =
      driver_function<PFN_cuMemAddressReserve_v10020>("cuMemAddressReserve");
  PFN_cuMemAddressFree_v10020 free =
      driver_function<PFN_cuMemAddressFree_v10020>("cuMemAddressFree");
  PFN_cuMemCreate_v10020 create = driver_function<PFN_cuMemCreate_v10020>("cuMemCreate");
  PFN_cuMemRelease_v10020 release = driver_function<PFN_cuMemRelease_v10020>("cuMemRelease");
  PFN_cuMemMap_v10020 map = driver_function<PFN_cuMemMap_v10020>("cuMemMap");
  PFN_cuMemUnmap_v10020 unmap = driver_function<PFN_cuMemUnmap_v10020>("cuMemUnmap");
  PFN_cuMemSetAccess_v10020 set_access =
      driver_function<PFN_cuMemSetAccess_v10020>("cuMemSetAccess");
};

const Driver& driver() {
  static const Driver functions;
  return functions;
}

void require(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    throw DeviceError(std::string(call) + ": out of memory");
  }
  throw DeviceError(std::string(call) + ": error " + std::to_string(result));
}

CUmemAllocationProp properties() {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  ORTHROS_CUDA(cudaGetDevice(&prop.location.id));
  return prop;
}

CUdeviceptr address(const uint8_t* data) {
  return reinterpret_cast<CUdeviceptr>(data);
}

// Bytes of a sparse cache's page.
int64_t page_bytes() {
  const CUmemAllocationProp prop = properties();
  size_t bytes = 0;
  require(driver().granularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
          "cuMemGetAllocationGranularity");
  return static_cast<int64_t>(bytes);
}

}  // namespace

CacheMemory::CacheMemory(int64_t bytes, bool sparse) : size_(bytes), sparse_(sparse) {
  if (bytes == 0) return;
  if (!sparse) {
    ORTHROS_CUDA(cudaMalloc(reinterpret_cast<void**>(&data_), static_cast<size_t>(bytes)));
    taken_ = bytes;
    return;
  }
  const int64_t page = page_bytes();
  const int64_t pages = (bytes + page - 1) / page;
  CUdeviceptr at = 0;
  require(driver().reserve(&at, static_cast<size_t>(pages * page), 0, 0, 0), "cuMemAddressReserve");
  data_ = reinterpret_cast<uint8_t*>(at);
  reserved_ = pages * page;
  pages_.assign(static_cast<size_t>(pages), false);
}

CacheMemory::~CacheMemory() {
  if (!sparse_) {
    cudaFree(data_);
    return;
  }
  if (data_ == nullptr) return;
  cudaDeviceSynchronize();  // unlike cudaFree, unmapping waits for nobody
  for (const Piece& piece : pieces_) {
    driver().unmap(address(data_) + static_cast<CUdeviceptr>(piece.first),
                   static_cast<size_t>(piece.bytes));
    driver().release(piece.handle);
  }
  driver().free(address(data_), static_cast<size_t>(reserved_));
}

void CacheMemory::hold(int64_t first, int64_t count, cudaStream_t stream) {
  if (!sparse_ || count <= 0) return;
  const int64_t page = reserved_ / static_cast<int64_t>(pages_.size());
  const auto begin = static_cast<size_t>(first / page);
  const auto end = static_cast<size_t>((first + count + page - 1) / page);
  const CUmemAllocationProp prop = properties();
  for (size_t p = begin; p < end;) {
    if (pages_[p]) {
      ++p;
      continue;
    }
    size_t stop = p;
    while (stop < end && !pages_[stop]) ++stop;
    Piece piece{static_cast<int64_t>(p) * page, static_cast<int64_t>(stop - p) * page, 0};
    const CUdeviceptr at = address(data_) + static_cast<CUdeviceptr>(piece.first);
    const auto bytes = static_cast<size_t>(piece.bytes);
    require(driver().create(&piece.handle, bytes, &prop, 0), "memory for a cache");
    const CUresult mapped = driver().map(at, bytes, 0, piece.handle, 0);
    if (mapped != CUDA_SUCCESS) driver().release(piece.handle);
    require(mapped, "cuMemMap");
    pieces_.push_back(piece);
    CUmemAccessDesc access{};
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    require(driver().set_access(at, bytes, &access, 1), "cuMemSetAccess");
    ORTHROS_CUDA(cudaMemsetAsync(reinterpret_cast<void*>(at), 0, bytes, stream));
    std::fill(pages_.begin() + static_cast<std::ptrdiff_t>(p),
              pages_.begin() + static_cast<std::ptrdiff_t>(stop), true);
    taken_ += piece.bytes;
    p = stop;
  }
}

void CacheMemory::swap(CacheMemory& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(taken_, other.taken_);
  std::swap(sparse_, other.sparse_);
  std::swap(reserved_, other.reserved_);
  std::swap(pages_, other.pages_);
  std::swap(pieces_, other.pieces_);
}

}  // namespace orthros::cuda
