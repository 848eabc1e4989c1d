// Where one architecture stops paying off against another.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/cost.hpp"

namespace orthros {

// The most output tokens, up to `limit`, at which `faster` still ends `gain` times sooner than
// `slower`; absent where it does not even at one token. The gain falls with the output, since
// decode costs the two alike.
std::optional<int64_t> break_even_output(const StepCost& slower, const StepCost& faster,
                                         int64_t input, int64_t batch, double gain, int64_t limit);

// The smallest batch, up to `limit`, at which a decode step of `dual` at n keys takes more than
// (1 + slack) times that of `single`: where its doubled rows stop being free. Absent: none.
std::optional<int64_t> doubled_rows_batch(const StepCost& single, const StepCost& dual, int64_t n,
                                          double slack, int64_t limit);

// Requests of this size after which serving FLOPs saved repay `training_tokens` trained at `length`
// at the dearer rate. 0 where training is not dearer; absent where serving saves nothing.
std::optional<double> repaying_requests(const CountModel& dear_to_train,
                                        const CountModel& dear_to_serve, int64_t input,
                                        int64_t output, double training_tokens, int64_t length);

}  // namespace orthros
