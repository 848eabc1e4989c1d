// Draws of shapes, seeds and schedules for properties; tensors come from the seeds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/model/weight_source.hpp"
#include "reference/spec/architecture.hpp"

namespace orthros {

// All of these draw from RapidCheck and so run only inside a property.

// A model as shapes and a seed.
struct RandomModel {
  ModelSpec spec;
  uint64_t seed = 0;
  RandomWeights weights() const { return {seed, spec.norm}; }
};

// A small valid model that is one of `architectures` (names of to_architecture): hidden up to 12,
// 1 to 4 layers, every kind of head grouping, norm, RoPE, scale-offset place and tying. Widths are
// no multiples of anything in particular.
RandomModel draw_model(const std::vector<std::string>& architectures);

// Orthros with and without scale-offset: dual streams over softmax layers.
const std::vector<std::string>& dual_softmax();
// Every architecture whose layers are all softmax, each with keys and values of its own.
const std::vector<std::string>& own_kv_softmax();
// Every architecture with a recurrent layer.
const std::vector<std::string>& recurrent_architectures();

// The window of the spec's windowed layers, or 3 as a size for schedules where there is none.
int64_t edge_of(const ModelSpec& spec);

// A length from `least` to `most`, as likely as not one of 1, w - 1, w, w + 1, 2w.
int64_t draw_length(int64_t edge, int64_t least, int64_t most);

uint64_t draw_seed();

// `length` token ids from a seed.
std::vector<int64_t> draw_tokens(const ModelSpec& spec, int64_t length);

// The same tokens with those at [first, last] (from 1) replaced, each by another id.
std::vector<int64_t> with_others(const ModelSpec& spec, std::vector<int64_t> tokens, int64_t first,
                                 int64_t last);

// Positions from first to last: none, the last, all, or any, with repeats and in any order.
std::vector<int64_t> draw_outputs(int64_t first, int64_t last);

// first, first + 1, .., last.
std::vector<int64_t> positions(int64_t first, int64_t last);

// Sizes of consecutive pieces that add up to `length`, each as draw_length has them.
std::vector<int64_t> draw_pieces(int64_t edge, int64_t length);

}  // namespace orthros
