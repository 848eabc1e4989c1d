// Sizes of ops: 64 bits, or an error.
#pragma once

#include <cstdint>
#include <limits>

#include "reference/spec/input_error.hpp"
#include "reference/spec/wide_int.hpp"

namespace orthros {

inline int64_t narrow(int128 value) {
  if (value > std::numeric_limits<int64_t>::max()) {
    throw InputError("step", "", "expected sizes of one kernel within 64 bits");
  }
  return static_cast<int64_t>(value);
}

}  // namespace orthros
