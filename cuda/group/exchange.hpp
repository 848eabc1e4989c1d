// Exchange: how the ranks of a group hand each other memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace orthros::cuda {

// Device memory for one other rank, or from it.
struct Transfer {
  int32_t peer;
  void* data;
  int64_t bytes;
};

// One rank's end of it. All ranks call exchange() the same number of times; the i-th transfer that
// one sends to another meets the i-th that the other receives from it, of the same size.
class Exchange {
 public:
  virtual ~Exchange() = default;
  // In stream order: what stands in front in `stream` is done before anything is read, and what
  // stands behind sees all that was received and may overwrite all that was sent. Transfers of no
  // bytes are left out by both sides. Throws GroupFailure where the group has failed.
  virtual void exchange(const std::vector<Transfer>& sends, const std::vector<Transfer>& receives,
                        cudaStream_t stream) = 0;
  // Whether exchange() may be captured in a graph.
  virtual bool captures() const = 0;
  // Throws GroupFailure if the transport has found an error since.
  virtual void require_health() = 0;
  // Ends what this rank waits for in exchanges; from any thread.
  virtual void abort() = 0;
};

enum class Transport { nccl, host };

// An end for each rank, rank r on devices[r]; to be used by one thread each. In a World of several
// processes only this one's rank has an end, and the others are null. NCCL needs a device
// for each rank; the host's needs none: threads meet on the host and copy from each other, through
// peer access where there is one. Throws DeviceError where the library is not there or refuses.
std::vector<std::unique_ptr<Exchange>> make_exchanges(Transport transport,
                                                      const std::vector<int>& devices,
                                                      int64_t patience_ms);

// Whether NCCL's library can be loaded.
bool has_nccl();

}  // namespace orthros::cuda
