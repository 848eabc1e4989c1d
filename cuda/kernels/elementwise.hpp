// The kernels between linear layers and attention. All arithmetic is reference/hopper's.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/layout/rows.hpp"

namespace orthros::cuda {

// x[r] = embedding[tokens[r]]. embedding: vocab x width; x: rows x width; rows of both `stride`
// apart.
void launch_embedding(const bf16_bits* embedding, const int32_t* tokens, int64_t rows,
                      int64_t width, bf16_bits* x, int64_t stride, cudaStream_t stream);

// RMSNorm's parameters: gain of `width`, or 1 + gain where zero-centred.
struct Norm {
  const bf16_bits* gain;
  int64_t width;
  float eps;
  bool zero_centred;
};

// The widest row that launch_add_norm takes.
inline constexpr int64_t most_norm_width = 32768;
// x = bf16(x + y), unless y is null; then n = RMSNorm(x), unless n is null. All rows, stride apart.
void launch_add_norm(bf16_bits* x, const bf16_bits* y, const Norm& norm, int64_t rows,
                     int64_t stride, bf16_bits* n, cudaStream_t stream);

// out[i] = in[sources[i]], rows of `stride`.
void launch_gather_rows(const bf16_bits* in, const int32_t* sources, int64_t rows, int64_t stride,
                        bf16_bits* out, cudaStream_t stream);

// What the projections of a step become. Row r's query heads, then key heads, then value heads
// stand at projected + r * projected_stride; `has_queries` and `has_keys` say which are there.
struct HeadPlacement {
  const bf16_bits* projected;
  int64_t projected_stride;
  AttentionShape shape;
  bool has_queries;
  bool has_keys;  // keys and values
  const Row* rows;
  int64_t count;      // rows
  int64_t base_rows;  // the first rows, whose keys and values are written
  Norm query_norm;    // gain null: no qk-norm
  Norm key_norm;
  const bf16_bits* alpha[2];  // by stream; null: no scale-offset
  const bf16_bits* beta[2];
  bool scale_first;      // scale-offset stands before qk-norm
  const float* rotary;   // position x rotary_width / 2 x {cos, sin}; null: no RoPE
  int64_t rotary_width;  // rotated channels of a head
  bf16_bits* q;          // count x query_heads * width, q_stride apart
  int64_t q_stride;
  KvView kv;
};

// q = RoPE(alpha qknorm(q) + beta) into `q`; k = RoPE(qknorm(k)) and v, rounded to bf16 and, where
// entries are e4m3, to these, into the cache at the row's sequence and position.
void launch_place_heads(const HeadPlacement& placement, cudaStream_t stream);

// y = SwiGLU: gate and up interleaved by 8 as Linears::gated has them. gate_up: rows, stride apart;
// y: rows x width, y_stride apart, written up to a multiple of 8 columns.
void launch_swiglu(const bf16_bits* gate_up, int64_t rows, int64_t stride, int64_t width,
                   bf16_bits* y, int64_t y_stride, cudaStream_t stream);

// tokens[r] = the largest logit's id, the lowest among equals, of `vocab` logits, stride apart;
// also to entering[entering_rows[r]], unless that is negative, to copies[r] and to
// history[*step * rows + r]; each unless null.
struct TokenSinks {
  int32_t* tokens;
  int32_t* entering;
  const int32_t* entering_rows;
  int32_t* copies;
  int32_t* history;
  const int32_t* step;
};
void launch_argmax(const float* logits, int64_t rows, int64_t vocab, int64_t stride,
                   const TokenSinks& sinks, cudaStream_t stream);

// A decode step's end: every row one position on, in both arrays, written lengths with them, and
// *step one up. `base_rows` rows stand for one sequence each.
void launch_advance(Row* rows, Row* attention_rows, int64_t count, int64_t base_rows,
                    int64_t* written, int32_t* step, cudaStream_t stream);

// Fills columns [0, width) of rows, stride apart.
inline constexpr bf16_bits not_a_number = 0x7fff;
void launch_fill_columns(bf16_bits* data, int64_t rows, int64_t width, int64_t stride,
                         bf16_bits value, cudaStream_t stream);
// Copies columns [0, width) of rows; width and strides are multiples of 4.
void launch_copy_columns(const bf16_bits* from, int64_t from_stride, bf16_bits* to,
                         int64_t to_stride, int64_t rows, int64_t width, cudaStream_t stream);

}  // namespace orthros::cuda
