// What one rank alone has made, told to the processes of the others.
#pragma once

#include <span>
#include <vector>

#include "cuda/engine/runner.hpp"

namespace orthros::cuda {

// Nothing to do in a World of one process, where ranks write to the same memory. All processes call
// these, with the same `makers`: who made the i-th prediction, with `vocab` logits or none; and
// whose the i-th ids of every step are.
void tell_predictions(std::span<Prediction> predictions, std::span<const int32_t> makers,
                      int64_t vocab);
void tell_ids(std::span<int64_t> ids, std::span<const int32_t> makers);

}  // namespace orthros::cuda
