// OutputAttention: how rows attend where other devices hold part of the cache.
#pragma once

#include "cuda/engine/runner.hpp"
#include "cuda/kernels/attention.hpp"

namespace orthros::cuda {

class OutputAttention {
 public:
  virtual ~OutputAttention() = default;
  // Rows [0, base_rows) through their windows here; the others, at most most_rows(), over every
  // split wherever it is. As launch_split_attention otherwise. `observer`, unless empty, hears of
  // what was launched: "output_attention", "exchange".
  virtual void attend(const Attention& call, int64_t base_rows, int64_t rows,
                      const OpObserver& observer) = 0;
  virtual int64_t most_rows() const = 0;
  // Whether attend() may be captured in a graph.
  virtual bool captures() const = 0;
};

}  // namespace orthros::cuda
