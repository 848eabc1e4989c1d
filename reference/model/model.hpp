// A model's weights, by their role in the equations.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "reference/model/arithmetic.hpp"
#include "reference/model/linear.hpp"
#include "reference/model/rotary.hpp"
#include "reference/spec/model_spec.hpp"

namespace orthros {

// One stream's alpha and beta, Hq x d each.
template <class S>
struct StreamScale {
  Matrix<S> alpha;
  Matrix<S> beta;
};

template <class S>
struct SoftmaxWeights {
  Linear<S> query;              // W_Q: Hq d x D; gated: Hq 2d x D, per head [q | gate]
  Linear<S> key;                // W_K: Hkv d x D; empty where KV is shared
  Linear<S> value;              // W_V
  Linear<S> output;             // W_O: D x Hq d
  Vector<S> query_norm;         // d, with qk-norm
  Vector<S> key_norm;           // d
  StreamScale<S> base;          // alpha, beta
  StreamScale<S> output_scale;  // alpha', beta'
};

// Weights of a recurrent mixer; those that its kind does not have are empty. Qwen3.5's one tensor
// in_proj_qkv is taken apart here, since an output copy asks for queries alone.
template <class S>
struct LinearMixerWeights {
  Linear<S> query, key, value;   // Hk K x D, Hk K x D, Hv V x D
  Linear<S> gate;                // W_g or W_z: Hv V x D
  Linear<S> output;              // D x Hv V
  Linear<S> decay;               // W_a (gated delta), w_gamma (gated retention): Hv x D
  Linear<S> write;               // W_b: Hv x D
  Linear<S> gate_down, gate_up;  // GLA's W1: rank x D, W2: Hk K x rank
  Vector<S> gate_bias;           // GLA's b: Hk K
  Matrix<S> taps;                // channels x conv width, oldest tap first
  Vector<S> decay_log;           // A_log: Hv
  Vector<S> decay_bias;          // dt_bias: Hv
  Vector<S> norm;                // V
};

template <class S>
struct LayerWeights {
  Vector<S> input_norm;  // D
  std::variant<SoftmaxWeights<S>, LinearMixerWeights<S>> mixer;
  Vector<S> post_norm;  // D
  Linear<S> gate, up;   // F x D
  Linear<S> down;       // D x F
};

// The decoder-decoder's one K and V projection, from RMSNorm(X^{L/2}).
template <class S>
struct SharedKvWeights {
  Vector<S> norm;
  Linear<S> key, value;
  Vector<S> key_norm;
};

template <class S>
struct Model {
  ModelSpec spec;
  Matrix<S> embedding;  // vocab x D
  std::vector<LayerWeights<S>> layers;
  std::optional<SharedKvWeights<S>> shared_kv;
  Vector<S> norm;
  Linear<S> head;  // W_head: vocab x D; the embedding's rows where tied
};

}  // namespace orthros
