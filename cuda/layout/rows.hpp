// The rows of a step and the shape of a KV cache, as kernels are told of them.
#pragma once

#include <cstdint>

namespace orthros::cuda {

// bf16 values are held as bit patterns, as in reference/hopper.
using bf16_bits = uint16_t;

// One row of the packed tensor: which token of which sequence it stands for, and in which stream.
// A copy keeps its token's position; where it stands in the tensor means nothing.
struct Row {
  int64_t position;  // from 0
  int32_t sequence;  // slot in the cache
  int32_t stream;    // 0 base, 1 output
};

// Consecutive positions of one sequence in consecutive packed rows: a chunk of its prompt.
struct QueryRun {
  int64_t row;       // packed row of the first
  int64_t position;  // position of the first
  int64_t count;
  int32_t sequence;
  int32_t padding;  // zero
};

// Consecutive packed rows of one sequence that one block works on, positions ascending (equal ones
// allowed).
struct RowTile {
  int64_t row;
  int32_t count;
  int32_t sequence;
};

// One rank's part of sequences whose splits are dealt round `ranks` of them; of one rank all.
struct Deal {
  int64_t rank = 0;
  int64_t ranks = 1;
};

// One layer's keys and values: the entry of position t, KV head h of sequence s starts at
// element s * sequence_stride + h * head_stride + t * width, keys and values alike; width is the
// head's. A head's entries are contiguous. Offsets pass 2^31. Elements are bf16, or e4m3 entries of
// a scale each KV head (reference/hopper/e4m3.hpp): the pointers of the other kind are null.
// Where splits are dealt round several ranks, only this one's are here, t's entry at the place
// dealt_place(t, ranks) (dealt_keys.hpp): split attention reads and place_heads writes such.
struct KvView {
  bf16_bits* keys;
  bf16_bits* values;
  int64_t sequence_stride;
  int64_t head_stride;
  uint8_t* keys8 = nullptr;
  uint8_t* values8 = nullptr;
  const int8_t* exponents = nullptr;  // scales': of the keys of each head, then of the values
  Deal deal{};
};

// Query head h reads KV head h / (query_heads / kv_heads).
struct AttentionShape {
  int64_t query_heads;
  int64_t kv_heads;
  int64_t width;  // d, a multiple of 8
  float scale;    // hopper::score_scale(d)

  int64_t group() const { return query_heads / kv_heads; }
};

}  // namespace orthros::cuda
