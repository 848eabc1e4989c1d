// Split attention of pairs of rows, whose last split and window share an item, against the same
// rows one by one. On a device; without one it is skipped and says so.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>

#include "cuda/kernels/attention.hpp"
#include "cuda/layout/key_ranges.hpp"
#include "cuda/layout/sizes.hpp"
#include "cuda/support/device_buffer.hpp"
#include "reference/hopper/rounding.hpp"
#include "reference/weights/counter_random.hpp"

namespace orthros::cuda {
namespace {

constexpr int64_t context = 1600;

std::vector<bf16_bits> draw_values(int64_t count, const char* name) {
  const CounterRandom random(11, name);
  std::vector<bf16_bits> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(
        hopper::round_bf16(static_cast<float>(random.normal(static_cast<uint64_t>(i)))));
  }
  return values;
}

// Base rows, then their copies, of sequences at these positions.
struct Loads {
  AttentionShape shape;
  int64_t window;
  std::vector<int64_t> positions;

  int64_t sequences() const { return static_cast<int64_t>(positions.size()); }
  int64_t sequence_stride() const { return shape.kv_heads * context * shape.width; }
};

// Rows as their values are in the cache: an infinity where only copies see it, NaN behind the last.
std::vector<bf16_bits> values_of(const Loads& loads) {
  std::vector<bf16_bits> values =
      draw_values(loads.sequences() * loads.sequence_stride(), "values");
  const auto put = [&](int64_t sequence, int64_t position, float value) {
    for (int64_t head = 0; head < loads.shape.kv_heads; ++head) {
      const int64_t at = entry_offset(sequence, loads.sequence_stride(), head,
                                      context * loads.shape.width, position, loads.shape.width);
      values[static_cast<size_t>(at)] = hopper::round_bf16(value);
    }
  };
  for (int64_t s = 0; s < loads.sequences(); ++s) {
    const int64_t position = loads.positions[static_cast<size_t>(s)];
    const int64_t before = block_start(first_visible(position, loads.window)) - 1;
    if (before >= 0) put(s, before, std::numeric_limits<float>::infinity());
    put(s, position + 1, std::numeric_limits<float>::quiet_NaN());
  }
  return values;
}

std::vector<bf16_bits> attend(const Loads& loads, bool pairs) {
  const int64_t rows = 2 * loads.sequences();
  const int64_t stride = loads.shape.query_heads * loads.shape.width;
  const auto device = [](const std::vector<bf16_bits>& values) {
    return DeviceBuffer<bf16_bits>(std::span<const bf16_bits>(values));
  };
  const auto q = device(draw_values(rows * stride, "queries"));
  const auto keys = device(draw_values(loads.sequences() * loads.sequence_stride(), "keys"));
  const auto values = device(values_of(loads));
  const DeviceBuffer<bf16_bits> out(q.size());
  std::vector<Row> places;
  for (int32_t stream = 0; stream < 2; ++stream) {
    for (int64_t s = 0; s < loads.sequences(); ++s) {
      places.push_back({loads.positions[static_cast<size_t>(s)], static_cast<int32_t>(s), stream});
    }
  }
  const DeviceBuffer<Row> row_places{std::span<const Row>(places)};
  const DeviceBuffer<uint8_t> workspace(split_workspace_bytes(loads.shape, rows, context));
  DeviceBuffer<uint32_t> claims(1);
  claims.fill_bytes(0);
  Attention call{};
  call.shape = loads.shape;
  call.kv = {keys.data(), values.data(), loads.sequence_stride(), context * loads.shape.width};
  call.q = q.data();
  call.out = out.data();
  call.row_stride = stride;
  call.rows = row_places.data();
  call.window = loads.window;
  call.claims = claims.data();
  call.pairs = pairs;
  launch_split_attention(call, loads.sequences(), rows, context, workspace.data());
  EXPECT_EQ(claims.to_host(), std::vector<uint32_t>{0});
  return out.to_host();
}

TEST(paired_attention, gives_the_bits_of_rows_one_by_one) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no device";
  EXPECT_TRUE(rc::check([] {
    const auto kv_heads = *rc::gen::inRange<int64_t>(1, 3).as("KV heads");
    const auto group = *rc::gen::inRange<int64_t>(1, 5).as("group");
    const auto width = *rc::gen::element<int64_t>(64, 128, 256).as("width");
    const auto window =
        *rc::gen::oneOf(rc::gen::inRange<int64_t>(1, 498), rc::gen::element<int64_t>(128, 497))
             .as("window");
    const auto positions =
        *rc::gen::container<std::vector<int64_t>>(
             3, rc::gen::oneOf(rc::gen::inRange<int64_t>(0, context - 1),
                               rc::gen::element<int64_t>(511, 512, 600, 1023, 1024, 1040)))
             .as("positions");
    const Loads loads{
        {kv_heads * group, kv_heads, width, hopper::score_scale(width)}, window, positions};
    RC_ASSERT(streams_fit(window, group));
    RC_ASSERT(attend(loads, true) == attend(loads, false));
  }));
}

}  // namespace
}  // namespace orthros::cuda
