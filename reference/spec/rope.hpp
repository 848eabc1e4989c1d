// Rotary frequencies of a Rope, scaled as Hugging Face checkpoints mean them.
#pragma once

#include <vector>

#include "reference/spec/model_spec.hpp"

namespace orthros {

// theta_i for i = 0 .. width/2 - 1, in radians per position: theta^(-2i/width), stretched by the
// rope's scaling. The angle of 1-based position t is (t - 1) theta_i. The attention factor of yarn
// is not in here: it multiplies cosines and sines.
std::vector<double> inverse_frequencies(const Rope& rope);

// yarn's attention factor where a config gives none: 0.1 ln(factor) + 1.
double default_yarn_attention_factor(double factor);

}  // namespace orthros
