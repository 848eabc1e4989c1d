// A sequence's memory: every layer's keys and values, and the recurrent layers' states.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "reference/model/arithmetic.hpp"
#include "reference/spec/input_error.hpp"
#include "reference/spec/model_spec.hpp"

namespace orthros {

// Keys (after RoPE) and values of one layer, tokens x Hkv d. Every position stays: the window
// limits what a base row reads, not what is kept. Grown exactly, so bytes are what is stored.
template <class S>
struct KvCache {
  Matrix<S> keys;
  Matrix<S> values;
};

// State of one recurrent layer after the last token: Hv matrices of K x V, and the inputs that the
// convolution still needs, (taps - 1) x channels, oldest first.
template <class S>
struct RecurrentState {
  Matrix<Accumulator<S>> state;  // (Hv K) x V
  Matrix<S> conv_inputs;
};

template <class S>
class Cache {
 public:
  using LayerCache = std::variant<KvCache<S>, RecurrentState<S>>;

  explicit Cache(const ModelSpec& spec) {
    const int64_t self_layers = spec.self_layers();
    for (int64_t i = 0; i < self_layers; ++i) {
      const Mixer& mixer = spec.layers[static_cast<size_t>(i)].mixer;
      if (const auto* softmax = std::get_if<SoftmaxAttention>(&mixer)) {
        layers.push_back(empty_kv(softmax->kv_width()));
      } else {
        layers.push_back(empty_state(std::get<LinearMixer>(mixer)));
      }
    }
    if (spec.has_shared_kv()) {
      const Mixer& mixer = spec.layers[static_cast<size_t>(self_layers)].mixer;
      layers.push_back(empty_kv(std::get<SoftmaxAttention>(mixer).kv_width()));
    }
  }

  // One a self layer; behind them the shared pair of a decoder-decoder.
  std::vector<LayerCache> layers;
  std::vector<int64_t> tokens;          // ids, so that a copy can be replayed at a past position
  std::vector<int64_t> document_first;  // each entry's document's first entry
  std::vector<int64_t> documents;       // each entry's document id
  int64_t position_shift = 0;           // added to every position's RoPE index

  int64_t length() const { return static_cast<int64_t>(tokens.size()); }

  // Makes room for `count` more tokens in every softmax layer.
  void grow(int64_t count) {
    for (LayerCache& layer : layers) {
      if (auto* kv = std::get_if<KvCache<S>>(&layer)) {
        kv->keys.conservativeResize(kv->keys.rows() + count, Eigen::NoChange);
        kv->values.conservativeResize(kv->values.rows() + count, Eigen::NoChange);
      }
    }
  }

  // Forgets the tokens from entry `length` on. A recurrent state cannot be turned back, so with
  // one only a no-op or length 0 is allowed. Throws InputError.
  void truncate(int64_t length) {
    if (length < 0 || length > this->length()) {
      throw InputError(
          "truncate", "length",
          "expected 0 to " + std::to_string(this->length()) + ", got " + std::to_string(length));
    }
    for (LayerCache& layer : layers) {
      if (auto* kv = std::get_if<KvCache<S>>(&layer)) {
        kv->keys.conservativeResize(length, Eigen::NoChange);
        kv->values.conservativeResize(length, Eigen::NoChange);
      } else if (length == 0) {
        auto& recurrent = std::get<RecurrentState<S>>(layer);
        recurrent.state.fill(Accumulator<S>(0.0));
        recurrent.conv_inputs.fill(S(0.0));
      } else if (length < this->length()) {
        throw InputError("truncate", "length",
                         "expected 0: a recurrent state cannot be turned back; fork it beforehand");
      }
    }
    tokens.resize(static_cast<size_t>(length));
    document_first.resize(static_cast<size_t>(length));
    documents.resize(static_cast<size_t>(length));
  }

  // Bytes of keys and values.
  int64_t kv_bytes() const {
    int64_t bytes = 0;
    for (const LayerCache& layer : layers) {
      if (const auto* kv = std::get_if<KvCache<S>>(&layer)) {
        bytes += (kv->keys.size() + kv->values.size()) * static_cast<int64_t>(sizeof(S));
      }
    }
    return bytes;
  }

 private:
  static KvCache<S> empty_kv(int64_t width) { return {Matrix<S>(0, width), Matrix<S>(0, width)}; }
  static RecurrentState<S> empty_state(const LinearMixer& mixer) {
    RecurrentState<S> recurrent;
    recurrent.state.resize(mixer.value_heads * mixer.key_width, mixer.value_width);
    recurrent.state.fill(Accumulator<S>(0.0));
    const int64_t kept = mixer.conv_width > 0 ? mixer.conv_width - 1 : 0;
    recurrent.conv_inputs.resize(kept, mixer.conv_channels());
    recurrent.conv_inputs.fill(S(0.0));
    return recurrent;
  }
};

}  // namespace orthros
