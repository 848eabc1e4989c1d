// Keys and values of e4m3 entries for attention in plain code.
#pragma once

#include "reference/hopper/attention_row.hpp"
#include "reference/hopper/e4m3.hpp"

namespace orthros::cuda {

// As hopper::VisibleKeys, of entries with a scale 2^exponent for the keys and one for the values.
struct E4m3Keys {
  const uint8_t* keys;
  const uint8_t* values;
  int64_t stride;
  int64_t width;
  int64_t begin;
  int64_t end;
  int key_exponent;
  int value_exponent;
};

// The query's score with a key: dot_chain.
ORTHROS_HOST_DEVICE inline float score_with(const uint16_t* q, const hopper::VisibleKeys& seen,
                                            int64_t key) {
  return hopper::dot_chain(q, 1, seen.keys + key * seen.stride, 1, seen.width);
}
ORTHROS_HOST_DEVICE inline float score_with(const uint16_t* q, const E4m3Keys& seen, int64_t key) {
  float sum = 0.0f;
  for (int64_t k = 0; k < seen.width; k += hopper::step_terms) {
    const int64_t left = seen.width - k;
    const int64_t terms = left < hopper::step_terms ? left : hopper::step_terms;
    uint16_t entries[hopper::step_terms];
    for (int64_t i = 0; i < terms; ++i) {
      entries[i] = hopper::widen_e4m3(seen.keys[key * seen.stride + k + i], seen.key_exponent);
    }
    sum = hopper::dot_step(sum, q + k, entries, terms);
  }
  return sum;
}

// A key's value in a channel, bf16 bits.
ORTHROS_HOST_DEVICE inline uint16_t value_of(const hopper::VisibleKeys& seen, int64_t key,
                                             int64_t channel) {
  return seen.values[key * seen.stride + channel];
}
ORTHROS_HOST_DEVICE inline uint16_t value_of(const E4m3Keys& seen, int64_t key, int64_t channel) {
  return hopper::widen_e4m3(seen.values[key * seen.stride + channel], seen.value_exponent);
}

}  // namespace orthros::cuda
