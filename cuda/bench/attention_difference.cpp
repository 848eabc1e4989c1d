// Runs both on the same rows and cache.
#include "cuda/bench/attention_difference.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/bench/timing.hpp"
#include "cuda/kernels/weights.hpp"
#include "cuda/layout/sizes.hpp"
#include "cuda/support/device_buffer.hpp"
#include "reference/weights/bfloat16.hpp"

namespace orthros::cuda {
namespace {

constexpr int launches = 5;

// The places of a prompt's last rows, as each kernel is told of them.
struct Rows {
  Rows(int64_t queries, int64_t keys, int64_t tile_rows) : run{0, keys - queries, queries, 0, 0} {
    for (int64_t r = 0; r < queries; ++r) rows.push_back({keys - queries + r, 0, 0});
    for (int64_t r = 0; r < queries; r += tile_rows) {
      tiles.push_back({r, static_cast<int32_t>(std::min(tile_rows, queries - r)), 0});
    }
  }
  QueryRun run;
  std::vector<Row> rows;
  std::vector<RowTile> tiles;
};

DeviceBuffer<bf16_bits> drawn(int64_t count, const char* name) {
  DeviceBuffer<bf16_bits> values(count);
  launch_draw_weights(CounterRandom(11, name), 0.0, 1.0, {0, 1, count, count, false}, values.data(),
                      nullptr);
  return values;
}

double value_of(bf16_bits bits) {
  return static_cast<double>(static_cast<float>(bfloat16::from_bits(bits)));
}

}  // namespace

AttentionDifference compare_attention(const ModelSpec& spec, PromptAttention& other,
                                      int64_t queries, int64_t keys) {
  const AttentionShape shape = attention_shape(spec);
  const int64_t query = shape.query_heads * shape.width;
  const int64_t kv = shape.kv_heads * shape.width;
  const auto q = drawn(queries * query, "q");
  const auto k = drawn(keys * kv, "keys");
  const auto v = drawn(keys * kv, "values");
  const DeviceBuffer<bf16_bits> out(q.size());
  const DeviceBuffer<bf16_bits> other_out(q.size());
  const Rows places(queries, keys, range_tile_rows(shape));
  const DeviceBuffer<Row> rows{std::span<const Row>(places.rows)};
  const DeviceBuffer<RowTile> tiles{std::span<const RowTile>(places.tiles)};
  const DeviceBuffer<int64_t> written{std::span<const int64_t>(&keys, 1)};
  const Attention call{shape,          {k.data(), v.data(), keys * kv, keys * shape.width},
                       q.data(),       out.data(),
                       query,          rows.data(),
                       written.data(), 0,
                       nullptr};
  Attention other_call = call;
  other_call.out = other_out.data();
  AttentionDifference result;
  result.queries = queries;
  result.keys = keys;
  result.engine_s = burst_seconds([&] { launch_range_attention(call, tiles.data(), tiles.size()); },
                                  launches, nullptr);
  result.other_s = burst_seconds(
      [&] {
        other.attend(other_call, {&places.run, 1});
      },
      launches, nullptr);
  const std::vector<bf16_bits> expected = out.to_host();
  const std::vector<bf16_bits> got = other_out.to_host();
  for (size_t i = 0; i < expected.size(); ++i) {
    const double value = value_of(expected[i]);
    const double difference = value_of(got[i]) - value;
    result.largest = std::max(result.largest, std::abs(difference));
    result.rms += difference * difference;
    result.output_rms += value * value;
  }
  result.rms = std::sqrt(result.rms / static_cast<double>(expected.size()));
  result.output_rms = std::sqrt(result.output_rms / static_cast<double>(expected.size()));
  return result;
}

}  // namespace orthros::cuda
