// Sizes and allocates the activations.
#include "cuda/engine/buffers.hpp"

#include <algorithm>

#include "cuda/kernels/attention.hpp"
#include "cuda/kernels/elementwise.hpp"

namespace orthros::cuda {
namespace {

constexpr int64_t history_tokens = int64_t{1} << 20;

int64_t split_bytes(const ModelSpec& spec, const Capacity& capacity) {
  const AttentionShape shape = attention_shape(spec);
  if (!split_attention_fits(shape) || capacity.split_rows == 0) return 0;
  return split_workspace_bytes(shape, capacity.split_rows, capacity.context);
}

}  // namespace

Capacity::Capacity(const ModelSpec& spec, const EngineLimits& limits) {
  const int64_t streams = spec.streams == Streams::dual ? 2 : 1;
  live = std::max(limits.outputs, limits.sequences);
  // One stream's predicting rows are gathered, and may be more than a pass's tokens.
  rows = std::max({limits.chunk + (streams == 2 ? live : 0), streams * limits.sequences, live});
  // Ranks that share an output stream's attention gather their own.
  split_rows = streams == 2 && limits.held > 0 ? 0 : streams * limits.sequences;
  context = limits.context;
}

Buffers::Buffers(const ModelSpec& spec, const EngineLimits& limits)
    : widths(spec),
      capacity(spec, limits),
      x(capacity.rows * widths.hidden),
      n(capacity.rows * widths.hidden),
      y(capacity.rows * widths.hidden),
      qkv(capacity.rows * widths.qkv),
      q(capacity.rows * widths.query),
      o(capacity.rows * widths.query),
      gate_up(capacity.rows * widths.gate_up),
      act(capacity.rows * widths.ffn),
      live_x(capacity.live * widths.hidden),
      live_n(capacity.live * widths.hidden),
      logits(capacity.live * widths.logits),
      tokens(capacity.rows),
      predicted(capacity.live),
      entering_rows(limits.sequences),
      rows(capacity.rows),
      attention_rows(capacity.rows),
      live_rows(capacity.live),
      live_sources(capacity.live),
      runs(limits.sequences),
      base_tiles(capacity.rows),
      live_tiles(capacity.live),
      written(limits.sequences),
      step(1),
      history(history_tokens),
      splits(split_bytes(spec, capacity)),
      claims(1) {
  claims.fill_bytes(0);
  for (DeviceBuffer<bf16_bits>* buffer :
       {&x, &n, &y, &qkv, &q, &o, &gate_up, &act, &live_x, &live_n}) {
    buffer->fill_bytes(0);
  }
}

int64_t Buffers::bytes() const {
  return x.bytes() + n.bytes() + y.bytes() + qkv.bytes() + q.bytes() + o.bytes() + gate_up.bytes() +
         act.bytes() + live_x.bytes() + live_n.bytes() + logits.bytes() + tokens.bytes() +
         predicted.bytes() + entering_rows.bytes() + rows.bytes() + attention_rows.bytes() +
         live_rows.bytes() + live_sources.bytes() + runs.bytes() + base_tiles.bytes() +
         live_tiles.bytes() + written.bytes() + step.bytes() + history.bytes() + splits.bytes() +
         claims.bytes();
}

void Buffers::poison(const ModelSpec& spec, cudaStream_t stream) {
  const auto& mixer = std::get<SoftmaxAttention>(spec.layers[0].mixer);
  const auto fill = [&](DeviceBuffer<bf16_bits>& buffer, int64_t width, int64_t stride) {
    launch_fill_columns(buffer.data(), buffer.size() / stride, width, stride, not_a_number, stream);
  };
  for (DeviceBuffer<bf16_bits>* buffer : {&x, &n, &y, &live_x, &live_n}) {
    fill(*buffer, spec.hidden, widths.hidden);
  }
  fill(qkv, mixer.query_width() + 2 * mixer.kv_width(), widths.qkv);
  fill(q, mixer.query_width(), widths.query);
  fill(o, mixer.query_width(), widths.query);
  fill(gate_up, widths.gate_up, widths.gate_up);
  fill(act, spec.layers[0].ffn.width, widths.ffn);
  constexpr int all_ones = 0xff;  // NaN as bf16 and as float
  ORTHROS_CUDA(
      cudaMemsetAsync(logits.data(), all_ones, static_cast<size_t>(logits.bytes()), stream));
  ORTHROS_CUDA(
      cudaMemsetAsync(splits.data(), all_ones, static_cast<size_t>(splits.bytes()), stream));
}

int64_t buffer_bytes(const ModelSpec& spec, const EngineLimits& limits) {
  const RowWidths widths(spec);
  const Capacity capacity(spec, limits);
  const int64_t bf16_row =
      3 * widths.hidden + widths.qkv + 2 * widths.query + widths.gate_up + widths.ffn;
  const auto size = [](auto value) { return static_cast<int64_t>(sizeof value); };
  const int64_t row = 2 * bf16_row + size(int32_t{}) + 2 * size(Row{}) + size(RowTile{});
  const int64_t live =
      4 * widths.hidden + 4 * widths.logits + size(Row{}) + size(RowTile{}) + 2 * size(int32_t{});
  return capacity.rows * row + capacity.live * live +
         limits.sequences * (size(QueryRun{}) + size(int64_t{}) + size(int32_t{})) +
         size(int32_t{}) + history_tokens * size(int32_t{}) + split_bytes(spec, capacity);
}

}  // namespace orthros::cuda
