// Times a decode step's products in one order and in any.
#include "cuda/bench/order.hpp"

#include <algorithm>

#include "cuda/bench/graph_timing.hpp"
#include "cuda/kernels/weights.hpp"
#include "cuda/layout/sizes.hpp"
#include "cuda/linear/lt_product.hpp"

namespace orthros::cuda {
namespace {

constexpr int algorithms_tried = 16;
constexpr int quick = 3;  // graphs to choose by
constexpr int burst = 20;

}  // namespace

std::vector<OrderCost> order_costs(const DeviceModel& model, int64_t rows) {
  const Stream stream;
  const RowWidths widths(model.spec);
  const auto layers = static_cast<double>(model.layers.size());
  Linears linears(rows);
  const LtProduct lt(SumOrder::any);
  const int64_t widest = std::max({widths.hidden, widths.query, widths.ffn});
  DeviceBuffer<bf16_bits> x(rows * widest);
  launch_draw_weights(CounterRandom(7, "x"), 0.0, 1.0, {0, 1, x.size(), x.size(), false}, x.data(),
                      stream);
  const DeviceBuffer<bf16_bits> y(rows * std::max({widths.qkv, widths.hidden, widths.gate_up}));
  const DeviceBuffer<bf16_bits> scratch(y.size());
  std::vector<OrderCost> costs;
  const auto add = [&](const char* name, Weight DeviceLayer::*weight, bool gated) {
    const auto seconds = [&](int times, const auto& work) {
      return graph_seconds(
                 [&] {
                   for (const DeviceLayer& layer : model.layers) work(layer.*weight);
                 },
                 times, stream) /
             layers;
    };
    const Weight& w = model.layers[0].*weight;
    const Input in{x.data(), rows, w.stride};
    const int64_t stride = padded16(w.out);
    OrderCost cost{name, rows, 0.0, 0.0, 0, 0};
    cost.chain_s = seconds(burst, [&](const Weight& each) {
      if (gated) {
        linears.gated(each, in, y.data(), widths.ffn, scratch.data(), stream);
      } else {
        linears.multiply(each, in, y.data(), stride, stream);
      }
    });
    const cublasLtMatmulAlgo_t* best = nullptr;
    const auto offered = lt.offered(w, in, stride, algorithms_tried);
    const auto run = [&](const cublasLtMatmulAlgo_t& algorithm) {
      return [&](const Weight& each) {
        return lt.multiply(algorithm, each, in, y.data(), stride, stream);
      };
    };
    for (const auto& algorithm : offered) {
      if (!run(algorithm)(w)) continue;
      const double time = seconds(quick, run(algorithm));
      if (best == nullptr || time < cost.any_s) {
        best = &algorithm;
        cost.any_s = time;
      }
    }
    if (best == nullptr) return;
    cost.any_s = seconds(burst, run(*best));
    cost.algorithm = LtProduct::id(*best);
    cost.splits = LtProduct::splits(*best);
    costs.push_back(cost);
  };
  add("qkv_proj", &DeviceLayer::qkv, false);
  add("o_proj", &DeviceLayer::output, false);
  add("gate_up_proj", &DeviceLayer::gate_up, true);
  add("down_proj", &DeviceLayer::down, false);
  return costs;
}

double order_saving(const DeviceModel& model, const std::vector<OrderCost>& costs) {
  double saving = 0.0;
  for (const OrderCost& cost : costs) saving += std::max(0.0, cost.chain_s - cost.any_s);
  return saving * static_cast<double>(model.layers.size());
}

}  // namespace orthros::cuda
