// Rows of a pass, read before the launches ahead have ended.
#pragma once

#include <cuda_runtime.h>

#include <cstring>

#include "cuda/layout/rows.hpp"

namespace orthros::cuda {

// A row as the host or the step before left it. No launch of a pass but the last writes rows, and
// none is placed before everything ahead of the pass has ended (begin_pass). From L2, since a line
// that an earlier launch left nearer may be a step old.
__device__ inline Row settled_row(const Row* row) {
  const int4 bits = __ldcg(reinterpret_cast<const int4*>(row));
  Row result;
  memcpy(&result, &bits, sizeof result);
  return result;
}

}  // namespace orthros::cuda
