// One call of forward: the batch, its rows, and who watches.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "reference/model/arithmetic.hpp"
#include "reference/model/cache.hpp"
#include "reference/model/rows.hpp"
#include "reference/spec/recurrent_form.hpp"

namespace orthros {

// One sequence's part of a batch: tokens to append to its cache, and where to predict.
template <class S>
struct Sequence {
  Cache<S>* cache = nullptr;
  std::span<const int64_t> tokens;
  // Positions in the sequence (from 1, cached tokens counted) to give logits at, in any order and
  // any number of times.
  std::span<const int64_t> outputs;
  // A document id per token, where the sequence packs several; empty: all belong to the document
  // of the token before, or to one new document.
  std::span<const int64_t> documents = {};
};

// Called with each intermediate of a step: its name, its layer (-1 outside layers), its rows, base
// rows before output rows.
template <class S>
using Observer = std::function<void(std::string_view name, int64_t layer, const Matrix<S>& rows)>;

// Called with a layer's new keys and values, rows x Hkv d each, before they enter the caches:
// changes them into what a cache of fewer bits gives back.
template <class S>
using KvRounding = std::function<void(int64_t kv_layer, Matrix<S>& keys, Matrix<S>& values)>;

template <class S>
struct ForwardOptions {
  RecurrentForm form = RecurrentForm::recurrent;
  // Tokens a chunk of the chunkwise form. Chunks start anew at each call and document, and behind
  // each output position where a copy reads the state.
  int64_t chunk = 64;
  Observer<S> observer;
  KvRounding<S> round_kv = {};  // empty: caches keep every bit
};

template <class S>
struct Step {
  const ModelSpec& spec;
  std::span<const Sequence<S>> batch;
  const ForwardOptions<S>& options;
  std::vector<Row> rows;  // base rows, then output copies
  int64_t base_rows = 0;  // rows of the base stream, which alone write caches

  void observe(std::string_view name, int64_t layer, const Matrix<S>& values) const {
    if (options.observer) options.observer(name, layer, values);
  }
  // The cache of a self layer (or of the shared pair, at self_layers) of the row's sequence.
  typename Cache<S>::LayerCache& cache_of(const Row& row, int64_t layer) const {
    return batch[static_cast<size_t>(row.sequence)].cache->layers[static_cast<size_t>(layer)];
  }
};

}  // namespace orthros
