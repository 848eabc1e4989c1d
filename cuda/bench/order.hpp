// What one order of summation costs: products of few rows beside cuBLASLt's, free in their order.
#pragma once

#include <string>
#include <vector>

#include "cuda/engine/device_model.hpp"

namespace orthros::cuda {

// One linear layer of a decode step, a mean over all of a model's layers in a graph.
struct OrderCost {
  std::string name;  // qkv_proj, o_proj, gate_up_proj, down_proj
  int64_t rows;
  double chain_s;  // the engine's, each output a dot_chain; gate_up_proj's has SwiGLU in it
  // The fastest of cuBLASLt's, which may split k and reduce as it likes; none has SwiGLU.
  double any_s;
  int algorithm;  // its cuBLASLt id
  int splits;     // of k
};

// The four at `rows` rows, on random inputs. Layers' weights differ, so none is in a cache.
std::vector<OrderCost> order_costs(const DeviceModel& model, int64_t rows);

// Seconds that a decode step of these rows would save with each product as the faster of both.
double order_saving(const DeviceModel& model, const std::vector<OrderCost>& costs);

}  // namespace orthros::cuda
