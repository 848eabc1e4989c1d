// The transport through the host: ranks are threads of one process, on any devices.
#pragma once

#include "cuda/group/exchange.hpp"

namespace orthros::cuda {

std::vector<std::unique_ptr<Exchange>> make_host_exchanges(const std::vector<int>& devices,
                                                           int64_t patience_ms);

}  // namespace orthros::cuda
