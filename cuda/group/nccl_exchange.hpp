// The transport through NCCL, whose library is loaded when first asked for: a machine without it
// runs one GPU all the same.
#pragma once

#include "cuda/group/exchange.hpp"

namespace orthros::cuda {

std::vector<std::unique_ptr<Exchange>> make_nccl_exchanges(const std::vector<int>& devices,
                                                           int64_t patience_ms);

}  // namespace orthros::cuda
