// Attention of one row and head in plain code: the definition that faster ones are checked against.
#pragma once

#include "reference/hopper/dot_step.hpp"
#include "reference/hopper/rounding.hpp"
#include "reference/hopper/softmax_order.hpp"

namespace orthros::hopper {

// What a row's query sees of one KV head. keys, values: bf16 bit patterns, the key at absolute
// position j (from 0, in its document) at keys + j stride, `width` of them; the value likewise.
// Visible are positions [begin, end).
struct VisibleKeys {
  const uint16_t* keys;
  const uint16_t* values;
  int64_t stride;
  int64_t width;
  int64_t begin;
  int64_t end;
};

// A softmax before it is divided by its sum.
struct PartialSoftmax {
  float most_scaled;  // the largest visible score times score_scale; -inf without keys
  float sum;
};

// Softmax over [begin, end) with all scores before their true maximum, and o: width sums of bf16
// weights times values, a chain over 16-key blocks at absolute positions, not yet divided.
ORTHROS_HOST_DEVICE inline PartialSoftmax attend_range(const uint16_t* q, const VisibleKeys& seen,
                                                       float scale, float* o) {
  for (int64_t i = 0; i < seen.width; ++i) o[i] = 0.0f;
  if (seen.begin >= seen.end) return {from_bits(0xff800000u), 0.0f};
  const auto score = [&](int64_t j) {
    return dot_chain(q, 1, seen.keys + j * seen.stride, 1, seen.width);
  };
  float most = score(seen.begin);
  for (int64_t j = seen.begin + 1; j < seen.end; ++j) most = larger(most, score(j));
  const float most_scaled = scaled_most(most, scale);
  float chains[sum_chains] = {};
  for (int64_t block = seen.begin / block_keys * block_keys; block < seen.end;
       block += block_keys) {
    uint16_t weights[block_keys];
    for (int64_t i = 0; i < block_keys; ++i) {
      const int64_t j = block + i;
      weights[i] = 0;
      if (j < seen.begin || j >= seen.end) continue;
      const float weight = weight_of(score(j), scale, most_scaled);
      chains[j % sum_chains] = add(chains[j % sum_chains], weight);
      weights[i] = round_bf16(weight);
    }
    for (int64_t column = 0; column < seen.width; ++column) {
      uint16_t values[block_keys];
      for (int64_t i = 0; i < block_keys; ++i) {
        const int64_t j = block + i;
        const bool visible = j >= seen.begin && j < seen.end;
        values[i] = visible ? seen.values[j * seen.stride + column] : uint16_t{0};
      }
      o[column] = dot_step(o[column], weights, values, block_keys);
    }
  }
  return {most_scaled, sum_of(chains)};
}

// The windowed base stream: one range. q, out: width bf16; o: width floats of scratch.
ORTHROS_HOST_DEVICE inline void attend_base(const uint16_t* q, const VisibleKeys& seen, float scale,
                                            float* o, uint16_t* out) {
  const PartialSoftmax all = attend_range(q, seen, scale, o);
  const float inverse = reciprocal(all.sum);
  for (int64_t i = 0; i < seen.width; ++i) {
    out[i] = seen.begin < seen.end ? round_bf16(multiply(o[i], inverse)) : uint16_t{0};
  }
}

// The output stream, and a full-attention base stream: splits of 512 keys at absolute positions,
// merged left to right under their largest maximum. o: 2 width floats of scratch.
ORTHROS_HOST_DEVICE inline void attend_output(const uint16_t* q, const VisibleKeys& seen,
                                              float scale, float* o, uint16_t* out) {
  float* part = o + seen.width;
  const auto split = [&](int64_t first) {
    VisibleKeys keys = seen;
    keys.begin = first > seen.begin ? first : seen.begin;
    keys.end = first + split_keys < seen.end ? first + split_keys : seen.end;
    return attend_range(q, keys, scale, part);
  };
  const int64_t start = seen.begin / split_keys * split_keys;
  float largest = from_bits(0xff800000u);
  for (int64_t first = start; first < seen.end; first += split_keys) {
    largest = larger(largest, split(first).most_scaled);
  }
  float sum = 0.0f;
  for (int64_t first = start; first < seen.end; first += split_keys) {
    const PartialSoftmax here = split(first);
    const float factor = merge_factor(here.most_scaled, largest);
    sum = first == start ? multiply(factor, here.sum) : fold(sum, factor, here.sum);
    for (int64_t i = 0; i < seen.width; ++i) {
      o[i] = first == start ? multiply(factor, part[i]) : fold(o[i], factor, part[i]);
    }
  }
  const float inverse = reciprocal(sum);
  for (int64_t i = 0; i < seen.width; ++i) {
    out[i] = seen.begin < seen.end ? round_bf16(multiply(o[i], inverse)) : uint16_t{0};
  }
}

}  // namespace orthros::hopper
