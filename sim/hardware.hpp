// Hardware: what one GPU can do at best, from scenarios/hardware/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace orthros {

// Dense peaks, never the sparse ones. FLOP/s, bytes, bytes/s, seconds.
struct Hardware {
  std::string name;         // of the file: "h100-sxm"
  std::string description;  // "NVIDIA H100 SXM5 80 GB"
  double bf16_rate = 0.0;
  double fp8_rate = 0.0;  // equals bf16_rate where the GPU has no fp8
  int64_t memory_bytes = 0;
  double memory_bandwidth = 0.0;
  double link_bandwidth = 0.0;  // to the other GPUs of a group, one direction
  double link_latency_s = 0.0;  // of one message
  // Between GPUs of different groups: of one GPU, one direction. The link's where a file has none.
  double network_bandwidth = 0.0;
  double network_latency_s = 0.0;
  int64_t largest_group = 1;    // GPUs that the link joins
  double dollars_per_hour = 0.0;
};

// By name or path. Every figure of the file stands beside its source: {"value": x, "source": text}.
// Throws InputError naming file and field.
Hardware load_hardware(std::string_view name_or_path);

}  // namespace orthros
