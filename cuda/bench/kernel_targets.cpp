// Times single kernels beside their bytes.
#include "cuda/bench/kernel_targets.hpp"

#include <fmt/format.h>

#include <functional>

#include "cuda/bench/graph_timing.hpp"
#include "cuda/kernels/attention.hpp"
#include "cuda/kernels/weights.hpp"
#include "cuda/layout/sizes.hpp"

namespace orthros::cuda {
namespace {

constexpr int64_t tokens = 131072;
constexpr int burst = 20;

DeviceBuffer<bf16_bits> random_values(int64_t count, const char* name, cudaStream_t stream) {
  DeviceBuffer<bf16_bits> values(count);
  launch_draw_weights(CounterRandom(7, name), 0.0, 1.0, {0, 1, count, count, false}, values.data(),
                      stream);
  return values;
}

void add_window_attention(const ModelSpec& spec, double copy, std::vector<Target>& targets) {
  const Stream stream;
  const AttentionShape shape = attention_shape(spec);
  constexpr int64_t window = 128;
  if (!window_attention_fits(shape, window)) return;
  const int64_t query = shape.query_heads * shape.width;
  const int64_t kv = shape.kv_heads * shape.width;
  const auto q = random_values(tokens * query, "q", stream);
  const auto keys = random_values(tokens * kv, "keys", stream);
  const auto values = random_values(tokens * kv, "values", stream);
  const DeviceBuffer<bf16_bits> out(q.size());
  const QueryRun run{0, 0, tokens, 0, 0};
  const DeviceBuffer<QueryRun> runs(std::span<const QueryRun>(&run, 1));
  const Attention call{shape,    {keys.data(), values.data(), tokens * kv, tokens * shape.width},
                       q.data(), out.data(),
                       query,    nullptr,
                       nullptr,  window,
                       stream};
  const auto work = [&] { launch_window_attention(call, runs.data(), 1, tokens); };
  const double floor = static_cast<double>(2 * 2 * tokens * (query + kv)) / copy;
  targets.push_back(share_target("window attention, 131072 positions, bursts", floor,
                                 just_timed(burst_seconds(work, burst, stream)), 0.73));
  targets.push_back(share_target("window attention, 131072 positions, sustained", floor,
                                 just_timed(sustained_seconds(work, 1.0, stream)), 0.62));
}

void add_decode_attention(const ModelSpec& spec, int64_t batch, double copy, double bound,
                          std::vector<Target>& targets) {
  const Stream stream;
  const AttentionShape shape = attention_shape(spec);
  if (!split_attention_fits(shape)) return;
  const int64_t query = shape.query_heads * shape.width;
  const int64_t kv = shape.kv_heads * shape.width;
  const auto q = random_values(2 * batch * query, "q", stream);
  const auto keys = random_values(batch * tokens * kv, "keys", stream);
  const auto values = random_values(batch * tokens * kv, "values", stream);
  const DeviceBuffer<bf16_bits> out(q.size());
  std::vector<Row> places;
  for (int32_t stream_index = 0; stream_index < 2; ++stream_index) {
    for (int64_t s = 0; s < batch; ++s) {
      places.push_back({tokens - 1, static_cast<int32_t>(s), stream_index});
    }
  }
  const DeviceBuffer<Row> rows{std::span<const Row>(places)};
  const std::vector<int64_t> lengths(static_cast<size_t>(batch), tokens);
  const DeviceBuffer<int64_t> written{std::span<const int64_t>(lengths)};
  const DeviceBuffer<uint8_t> workspace(split_workspace_bytes(shape, 2 * batch, tokens));
  DeviceBuffer<uint32_t> claims(1);
  claims.fill_bytes(0);
  const Attention call{
      shape,          {keys.data(), values.data(), tokens * kv, tokens * shape.width},
      q.data(),       out.data(),
      query,          rows.data(),
      written.data(), 128,
      stream,         {},
      claims.data(),  true};
  const double seconds = burst_seconds(
      [&] { launch_split_attention(call, batch, 2 * batch, tokens, workspace.data()); }, burst,
      stream);
  targets.push_back(share_target(fmt::format("decode attention, 131072 keys, batch {}", batch),
                                 static_cast<double>(4 * batch * tokens * kv) / copy,
                                 just_timed(seconds), bound));
}

// A decode step's linear layers, each over all layers of the model so that no cache holds weights.
void add_row_products(const DeviceModel& model, int64_t rows, double copy,
                      std::vector<Target>& targets) {
  const Stream stream;
  const RowWidths widths(model.spec);
  const auto layers = static_cast<double>(model.layers.size());
  Linears linears(rows);
  const auto x =
      random_values(rows * std::max({widths.hidden, widths.query, widths.ffn}), "x", stream);
  const DeviceBuffer<bf16_bits> y(rows * std::max(widths.qkv, widths.hidden));
  const DeviceBuffer<bf16_bits> act(rows * widths.ffn);
  const DeviceBuffer<bf16_bits> scratch(rows * widths.gate_up);
  const auto plain = [&](const Weight& w) {
    linears.multiply(w, {x.data(), rows, w.stride}, y.data(), padded16(w.out), stream);
  };
  const auto gated = [&](const Weight& w) {
    linears.gated(w, {x.data(), rows, w.stride}, act.data(), widths.ffn, scratch.data(), stream);
  };
  const auto bytes = [](const Weight& w) { return static_cast<double>(2 * w.out * w.in); };
  const auto add = [&](const char* name, double one_layer, double bound,
                       const std::function<void(const DeviceLayer&)>& work) {
    const double seconds = graph_seconds(
        [&] {
          for (const DeviceLayer& layer : model.layers) work(layer);
        },
        burst, stream);
    targets.push_back(share_target(fmt::format("{}, {} rows", name, rows), one_layer / copy,
                                   just_timed(seconds / layers), bound));
  };
  const DeviceLayer& any = model.layers[0];
  add("down_proj", bytes(any.down), 0.92, [&](const DeviceLayer& l) { plain(l.down); });
  add("qkv_proj", bytes(any.qkv), 0.87, [&](const DeviceLayer& l) { plain(l.qkv); });
  add("gate_up_proj with SwiGLU", bytes(any.gate_up), 0.96,
      [&](const DeviceLayer& l) { gated(l.gate_up); });
  add("o_proj", bytes(any.output), 0.78, [&](const DeviceLayer& l) { plain(l.output); });
  add("a layer's four chained",
      bytes(any.down) + bytes(any.qkv) + bytes(any.gate_up) + bytes(any.output), 0.92,
      [&](const DeviceLayer& l) {
        plain(l.qkv);
        plain(l.output);
        gated(l.gate_up);
        plain(l.down);
      });
}

}  // namespace

Target share_target(std::string name, double floor_s, const Timed& measured, double bound) {
  const double ratio = floor_s / measured.seconds;
  return {std::move(name), "s",   floor_s,        measured.seconds,
          ratio,           bound, ratio >= bound, measured.clocks};
}

Target excess_target(std::string name, double floor_s, const Timed& measured, double bound) {
  const double ratio = measured.seconds / floor_s;
  return {std::move(name), "s",   floor_s,        measured.seconds,
          ratio,           bound, ratio <= bound, measured.clocks};
}

std::vector<Target> kernel_targets(const DeviceModel& model, double copy) {
  std::vector<Target> targets;
  add_window_attention(model.spec, copy, targets);
  add_decode_attention(model.spec, 1, copy, 0.85, targets);
  add_decode_attention(model.spec, 2, copy, 0.93, targets);
  for (const int64_t rows : {2, 4, 8}) add_row_products(model, rows, copy, targets);
  return targets;
}

}  // namespace orthros::cuda
