// wide_product against row_product, bit for bit; skips where there is no device.
#include "cuda/kernels/wide_product.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "cuda/kernels/row_product.hpp"
#include "cuda/support/device_buffer.hpp"
#include "reference/hopper/rounding.hpp"

namespace orthros::cuda {
namespace {

class wide_product : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
      GTEST_SKIP() << "device: none";
    }
  }

  int64_t draw(int64_t from, int64_t to) {
    return std::uniform_int_distribution<int64_t>(from, to)(random_);
  }

  // rows x columns, `stride` apart, zeros behind; one in `one_in` from `among`.
  std::vector<bf16_bits> matrix(int64_t rows, int64_t columns, int64_t stride, int64_t one_in,
                                std::span<const bf16_bits> among) {
    std::normal_distribution<float> normal;
    std::vector<bf16_bits> values(static_cast<size_t>(rows * stride));
    for (size_t i = 0; i < values.size(); ++i) {
      if (static_cast<int64_t>(i) % stride >= columns) continue;
      values[i] = hopper::round_bf16(normal(random_));
      if (among.empty() || draw(1, one_in) > 1) continue;
      values[i] = among[static_cast<size_t>(draw(0, static_cast<int64_t>(among.size()) - 1))];
    }
    return values;
  }

  // Results of both ways, over columns that must stay as they were.
  void expect_same(int64_t rows, int64_t out, int64_t in, bool gated, int64_t one_in = 0,
                   std::span<const bf16_bits> among = {}) {
    const int64_t stride = padded16(in);
    std::vector<bf16_bits> weights = matrix(out, in, stride, one_in, among);
    weights.resize(static_cast<size_t>(padded16(out) * stride));
    const DeviceBuffer<bf16_bits> w{std::span<const bf16_bits>(weights)};
    const std::vector<bf16_bits> inputs = matrix(rows, in, stride, one_in, among);
    const DeviceBuffer<bf16_bits> x{std::span<const bf16_bits>(inputs)};
    const int64_t y_stride = padded16(gated ? out / 2 : out) + 16;
    DeviceBuffer<bf16_bits> expected(rows * y_stride);
    DeviceBuffer<bf16_bits> got(rows * y_stride);
    expected.fill_bytes(0x5a);
    got.fill_bytes(0x5a);
    const Weight weight{w.data(), out, in, stride};
    const Input input{x.data(), rows, stride};
    launch_row_product({weight, input, expected.data(), y_stride,
                        gated ? RowResult::gated : RowResult::rounded, false, nullptr});
    launch_wide_product({weight, input, got.data(), y_stride,
                         gated ? WideResult::gated : WideResult::rounded, false, nullptr});
    EXPECT_TRUE(expected.to_host() == got.to_host())
        << rows << " rows, " << out << " x " << in << (gated ? ", gated" : "");
  }

  std::mt19937_64 random_{1};
};

TEST_F(wide_product, gives_the_chains_bits_at_any_size) {
  for (int i = 0; i < 12; ++i) {
    const bool gated = i % 2 == 1;
    const int64_t out = gated ? 16 * draw(1, 100) : 8 * draw(1, 200);
    expect_same(draw(33, 1100), out, draw(1, 1500), gated);
  }
}

TEST_F(wide_product, gives_the_chains_bits_at_the_edges_of_its_tiles) {
  for (const int64_t rows : {1, 128, 129, 256, 257}) {
    for (const int64_t out : {16, 192, 208, 384}) {
      expect_same(rows, out, 64, false);
      expect_same(rows, out, 80, true);
    }
  }
}

// More tiles than blocks: the ring and the turns of the two warpgroups go on across tiles.
TEST_F(wide_product, gives_the_chains_bits_over_several_tiles_a_block) {
  expect_same(2100, 6144, 320, false);
  expect_same(2100, 6144, 336, true);
}

TEST_F(wide_product, gives_the_chains_bits_of_subnormals_infinities_and_nan) {
  const std::vector<bf16_bits> small{0x0001, 0x8001, 0x007f, 0x0080, 0x8000, 0x0000};
  const std::vector<bf16_bits> large{0x7f80, 0xff80, 0x7fc1, 0xffff, 0x7f7f, 0xff7f};
  std::vector<bf16_bits> any(1000);
  for (bf16_bits& bits : any) bits = static_cast<bf16_bits>(draw(0, 0xffff));
  for (const bool gated : {false, true}) {
    expect_same(300, 512, 500, gated, 2, small);
    expect_same(300, 512, 500, gated, 1, small);
    expect_same(300, 512, 500, gated, 5000, large);
    expect_same(300, 512, 20, gated, 1, any);
    expect_same(300, 512, 500, gated, 100, any);
  }
}

}  // namespace
}  // namespace orthros::cuda
