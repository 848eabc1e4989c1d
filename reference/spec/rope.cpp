// Computes rotary frequencies.
#include "reference/spec/rope.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace orthros {
namespace {

// Llama 3: long wavelengths are divided by the factor, short ones kept, those between blended.
double llama3_frequency(const Rope& rope, double frequency) {
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  const auto original = static_cast<double>(rope.original_max_position);
  if (wavelength < original / rope.high_freq_factor) return frequency;
  if (wavelength > original / rope.low_freq_factor) return frequency / rope.factor;
  const double smooth = (original / wavelength - rope.low_freq_factor) /
                        (rope.high_freq_factor - rope.low_freq_factor);
  return (1.0 - smooth) * frequency / rope.factor + smooth * frequency;
}

// YaRN: the channel that turns `rotations` times over the trained length.
double yarn_channel(const Rope& rope, double rotations) {
  const auto original = static_cast<double>(rope.original_max_position);
  return static_cast<double>(rope.width) *
         std::log(original / (rotations * 2.0 * std::numbers::pi)) / (2.0 * std::log(rope.theta));
}

// YaRN: fast channels keep their frequency, slow ones are interpolated, a linear ramp between.
void yarn_scale(const Rope& rope, std::vector<double>& frequencies) {
  double low = yarn_channel(rope, rope.beta_fast);
  double high = yarn_channel(rope, rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(rope.width - 1));
  if (low == high) high += 0.001;  // the ramp keeps a slope
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    frequencies[i] = frequencies[i] / rope.factor * ramp + frequencies[i] * (1.0 - ramp);
  }
}

}  // namespace

std::vector<double> inverse_frequencies(const Rope& rope) {
  std::vector<double> frequencies(static_cast<size_t>(rope.width / 2));
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(rope.width);
    frequencies[i] = 1.0 / std::pow(rope.theta, exponent);
  }
  switch (rope.scaling) {
    case RopeScaling::none:
      break;
    case RopeScaling::linear:
      for (double& frequency : frequencies) frequency /= rope.factor;
      break;
    case RopeScaling::llama3:
      for (double& frequency : frequencies) frequency = llama3_frequency(rope, frequency);
      break;
    case RopeScaling::yarn:
      yarn_scale(rope, frequencies);
      break;
  }
  return frequencies;
}

double default_yarn_attention_factor(double factor) {
  return factor <= 1.0 ? 1.0 : 0.1 * std::log(factor) + 1.0;
}

}  // namespace orthros
