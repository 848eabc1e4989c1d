// What makes an engine one rank of several.
#pragma once

#include "cuda/engine/runner.hpp"
#include "cuda/kernels/attention.hpp"

namespace orthros::cuda {

// How rows attend where other ranks hold part of the cache.
class OutputAttention {
 public:
  virtual ~OutputAttention() = default;
  // Rows [0, base_rows) through their windows here; the others over every split wherever it is. As
  // launch_split_attention otherwise. `observer`, unless empty, hears of what was launched:
  // "output_attention", "exchange".
  virtual void attend(const Attention& call, int64_t base_rows, int64_t rows,
                      const OpObserver& observer) = 0;
  // Whether attend() may be captured in a graph.
  virtual bool captures() const = 0;
};

class KvStore;

// How ranks that run different chunks of a prompt see each other's keys and values and what each
// keeps of them.
class KeySharing {
 public:
  virtual ~KeySharing() = default;
  // In each layer of a prefill, once the rank's new entries stand in cache.whole() and before
  // anything attends to them: brings all that ranks keep of the layer and their new entries into
  // every rank's cache.whole(), and those of the new ones that this rank is dealt into its cache.
  virtual void share(KvStore& cache, int64_t layer, cudaStream_t stream) = 0;
};

// Null: none of that. `keys` goes with EngineLimits::deal.
struct RankHooks {
  OutputAttention* outputs = nullptr;
  KeySharing* keys = nullptr;
};

}  // namespace orthros::cuda
