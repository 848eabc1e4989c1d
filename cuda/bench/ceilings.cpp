// Measures ceilings.
#include "cuda/bench/ceilings.hpp"

#include <algorithm>

#include "cuda/bench/timing.hpp"
#include "cuda/kernels/weights.hpp"
#include "cuda/layout/sizes.hpp"

namespace orthros::cuda {

double copy_bytes_per_second(cudaStream_t stream) {
  const DeviceBuffer<uint8_t> from(int64_t{4} << 30);
  const DeviceBuffer<uint8_t> to(from.size());
  const auto bytes = static_cast<size_t>(from.size());
  const double seconds = burst_seconds(
      [&] {
        ORTHROS_CUDA(
            cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream));
      },
      10, stream);
  return 2.0 * static_cast<double>(bytes) / seconds;
}

std::vector<GemmCeiling> gemm_ceilings(const DeviceModel& model, int64_t rows,
                                       cudaStream_t stream) {
  const RowWidths widths(model.spec);
  const DeviceLayer& layer = model.layers[0];
  Linears linears(rows);
  const int64_t widest = std::max({widths.hidden, widths.query, widths.ffn});
  const DeviceBuffer<bf16_bits> x(rows * widest);
  const DeviceBuffer<bf16_bits> y(rows * std::max(widths.gate_up, widths.qkv));
  const DeviceBuffer<bf16_bits> act(rows * widths.ffn);
  launch_draw_weights(CounterRandom(1, "ceilings"), 0.0, 1.0, {0, rows, widest, widest, false},
                      x.data(), stream);
  std::vector<GemmCeiling> ceilings;
  const auto measure = [&](const char* name, const Weight& w, bool gated) {
    linears.prepare(w);
    const Input input{x.data(), rows, w.stride};
    const double seconds = sustained_seconds(
        [&] {
          if (gated && rows <= 32) {
            linears.gated(w, input, act.data(), widths.ffn, y.data(), stream);
          } else {
            linears.multiply(w, input, y.data(), padded16(w.out), stream);
          }
        },
        1.0, stream);
    ceilings.push_back({name, rows, w.out, w.in, seconds});
  };
  measure("qkv_proj", layer.qkv, false);
  measure("o_proj", layer.output, false);
  measure("gate_up_proj", layer.gate_up, true);
  measure("down_proj", layer.down, false);
  return ceilings;
}

double gemm_floor_seconds(const DeviceModel& model, const std::vector<GemmCeiling>& ceilings,
                          int64_t tokens) {
  const auto layers = static_cast<double>(model.layers.size());
  const auto& mixer = std::get<SoftmaxAttention>(model.spec.layers[0].mixer);
  double seconds = 0.0;
  for (const GemmCeiling& gemm : ceilings) {
    const double passes = static_cast<double>(tokens) / static_cast<double>(gemm.rows);
    double times = layers - 1.0;
    if (gemm.name == "qkv_proj") {
      times += 2.0 * static_cast<double>(mixer.kv_width()) / static_cast<double>(gemm.out);
    }
    seconds += passes * times * gemm.seconds;
  }
  return seconds;
}

double decode_bytes(const ModelSpec& spec, int64_t batch, double n, KvFormat format) {
  const double entry = format == KvFormat::e4m3 ? 0.5 : 1.0;  // of a bf16 element
  double elements = static_cast<double>(spec.vocab) * static_cast<double>(spec.hidden);
  for (const Layer& layer : spec.layers) {
    const auto& mixer = std::get<SoftmaxAttention>(layer.mixer);
    const auto hidden = static_cast<double>(spec.hidden);
    const auto query = static_cast<double>(mixer.query_width());
    const auto kv = static_cast<double>(mixer.kv_width());
    elements += hidden * (2.0 * query + 2.0 * kv + 3.0 * static_cast<double>(layer.ffn.width));
    const bool windowed = mixer.window && spec.streams == Streams::single;
    const double keys = windowed ? std::min(n, static_cast<double>(*mixer.window)) : n;
    elements += static_cast<double>(batch) * keys * 2.0 * kv * entry;
  }
  return elements * static_cast<double>(sizeof(bf16_bits));
}

}  // namespace orthros::cuda
