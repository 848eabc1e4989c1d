// What the device reaches without the engine around it: copies, and each linear layer alone.
#pragma once

#include <string>
#include <vector>

#include "cuda/engine/device_model.hpp"
#include "cuda/engine/engine.hpp"

namespace orthros::cuda {

// Bytes read and written per second by a large copy within device memory.
double copy_bytes_per_second(cudaStream_t stream);

// One linear layer of a model at `rows` rows, through the engine's own Linears.
struct GemmCeiling {
  std::string name;  // qkv_proj, o_proj, gate_up_proj, down_proj
  int64_t rows;
  int64_t out;
  int64_t in;
  double seconds;  // sustained for a second
  double flops_per_second() const {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(out) * static_cast<double>(in) /
           seconds;
  }
};

// Layer 0's four at `rows` rows, on random inputs.
std::vector<GemmCeiling> gemm_ceilings(const DeviceModel& model, int64_t rows, cudaStream_t stream);

// Seconds of the linear layers of a prompt of `tokens` in passes of ceilings' rows: every layer's
// four for every token, but the last layer's keys and values alone.
double gemm_floor_seconds(const DeviceModel& model, const std::vector<GemmCeiling>& ceilings,
                          int64_t tokens);

// Bytes that a decode step must read: weights once, the head, and the keys and values that rows
// see, each once. n: keys of a sequence's new token, itself included.
double decode_bytes(const ModelSpec& spec, int64_t batch, double n,
                    KvFormat format = KvFormat::bf16);

}  // namespace orthros::cuda
