// The activations of a pass, allocated once.
#pragma once

#include "cuda/engine/engine.hpp"
#include "cuda/layout/sizes.hpp"
#include "cuda/layout/step_plan.hpp"
#include "cuda/support/device_buffer.hpp"

namespace orthros::cuda {

// Capacities that follow from an engine's limits.
struct Capacity {
  int64_t rows;        // of a pass: base rows and copies
  int64_t live;        // rows that predict
  int64_t split_rows;  // rows that split attention takes at once
  int64_t context;

  Capacity(const ModelSpec& spec, const EngineLimits& limits);
};

// Packed tensors, all rows in one order (cuda/layout/step_plan.hpp). Columns past a row's width are
// zero and stay so.
struct Buffers {
  Buffers(const ModelSpec& spec, const EngineLimits& limits);

  RowWidths widths;
  Capacity capacity;
  DeviceBuffer<bf16_bits> x;            // rows x D: the residual
  DeviceBuffer<bf16_bits> n;            // rows x D: RMSNorm(x)
  DeviceBuffer<bf16_bits> y;            // rows x D: what is added to x
  DeviceBuffer<bf16_bits> qkv;          // rows x (Hq + 2 Hkv) d
  DeviceBuffer<bf16_bits> q;            // rows x Hq d
  DeviceBuffer<bf16_bits> o;            // rows x Hq d
  DeviceBuffer<bf16_bits> gate_up;      // rows x 2 F
  DeviceBuffer<bf16_bits> act;          // rows x F
  DeviceBuffer<bf16_bits> live_x;       // live x D: predicting rows of a single stream
  DeviceBuffer<bf16_bits> live_n;       // live x D
  DeviceBuffer<float> logits;           // live x vocab
  DeviceBuffer<int32_t> tokens;         // rows
  DeviceBuffer<int32_t> predicted;      // live
  DeviceBuffer<int32_t> entering_rows;  // sequences; the base row where a prediction enters, or -1
  DeviceBuffer<Row> rows;               // rows
  DeviceBuffer<Row> attention_rows;  // rows, as attention is told of them; differs by a fault only
  DeviceBuffer<Row> live_rows;       // live
  DeviceBuffer<int32_t> live_sources;  // live
  DeviceBuffer<QueryRun> runs;         // sequences
  DeviceBuffer<RowTile> base_tiles;    // rows
  DeviceBuffer<RowTile> live_tiles;    // live
  DeviceBuffer<int64_t> written;       // sequences
  DeviceBuffer<int32_t> step;          // 1: replays since decoding began
  DeviceBuffer<int32_t> history;       // tokens of decode_greedily
  DeviceBuffer<uint8_t> splits;        // split attention's workspace
  DeviceBuffer<uint32_t> claims;       // 1: split attention's count

  int64_t bytes() const;
  void poison(const ModelSpec& spec, cudaStream_t stream);
};

// Bytes that Buffers takes, without taking them.
int64_t buffer_bytes(const ModelSpec& spec, const EngineLimits& limits);

}  // namespace orthros::cuda
