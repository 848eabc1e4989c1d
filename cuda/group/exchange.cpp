// Chooses a transport.
#include "cuda/group/exchange.hpp"

#include <algorithm>

#include "cuda/group/host_exchange.hpp"
#include "cuda/support/cuda_error.hpp"
#ifdef ORTHROS_NCCL
#include "cuda/group/nccl_exchange.hpp"
#endif

namespace orthros::cuda {

std::vector<std::unique_ptr<Exchange>> make_exchanges(Transport transport,
                                                      const std::vector<int>& devices,
                                                      int64_t patience_ms) {
  if (transport == Transport::host) return make_host_exchanges(devices, patience_ms);
#ifdef ORTHROS_NCCL
  return make_nccl_exchanges(devices, patience_ms);
#else
  throw DeviceError("this build has no NCCL: its header was not found");
#endif
}

#ifndef ORTHROS_NCCL
bool has_nccl() {
  return false;
}
#endif

}  // namespace orthros::cuda
