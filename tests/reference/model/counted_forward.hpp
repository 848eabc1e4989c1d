// Multiply-adds of a forward, counted one by one.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/spec/recurrent_form.hpp"
#include "tests/support/random_model.hpp"

namespace orthros {

// Runs consecutive calls over the tokens, each asked for `outputs[i]`, and gives the multiply-adds
// that each made.
std::vector<int64_t> counted_calls(const RandomModel& model, const std::vector<int64_t>& tokens,
                                   const std::vector<int64_t>& pieces,
                                   const std::vector<std::vector<int64_t>>& outputs,
                                   RecurrentForm form, int64_t chunk);

}  // namespace orthros
