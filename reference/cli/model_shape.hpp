// A spec's layers grouped by kind, and its sizes in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/spec/model_spec.hpp"

namespace orthros::cli {

// Layers that are alike, in the order of their first.
struct LayerKind {
  Layer layer;
  std::vector<int64_t> indices;  // from 0
};
std::vector<LayerKind> layer_kinds(const ModelSpec& spec);

// One line: "windowed attention (128 keys), 32 query and 8 KV heads x 128, ...".
std::string mixer_text(const ModelSpec& spec, const Layer& layer);

// "0-2, 4-6, 8".
std::string ranges_text(std::span<const int64_t> indices);

// In the spec's dtype, but recurrent states in F32. InputError where a count passes 64 bits.
struct MemorySizes {
  int64_t weights_bytes = 0;
  int64_t kv_bytes_per_token = 0;  // every position's, windowed layers included
  int64_t state_bytes = 0;         // a sequence's recurrent states
  int64_t conv_bytes = 0;          // a sequence's convolution inputs
};
MemorySizes memory_sizes(const ModelSpec& spec);

// "147456 bytes (144 KiB)", "16381470720 bytes (15.26 GiB, 16.38 GB)".
std::string bytes_text(int64_t bytes);

}  // namespace orthros::cli
