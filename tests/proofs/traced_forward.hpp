// Runs the reference with the tracing scalar along a schedule and writes what it found in the
// oracle's words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/model/fault.hpp"
#include "reference/spec/model_spec.hpp"

namespace orthros {

struct TraceCase {
  ModelSpec spec;
  std::vector<int64_t> chunks;   // sizes of the forwards, in order
  std::vector<int64_t> outputs;  // positions from 1
  int64_t tokens() const;
};

// The request line that asks the oracle about this case.
std::string oracle_request(const TraceCase& shape);

// The lines that the oracle would answer, from the reference's own execution; states and
// convolution inputs at the ends of chunks only, which is when the reference holds them.
std::vector<std::string> traced_lines(const TraceCase& shape, Fault fault = configured_fault);

}  // namespace orthros
