// Asks a Hopper GPU what mma.sync.m16n8k16 gives for zeros, subnormals, infinities, NaN and extreme
// exponents: writes tests/goldens/hopper_mma_special.bin.
//
//   nvcc -std=c++20 -gencode arch=compute_90a,code=sm_90a -I. cuda/probe/mma_vectors.cu -o
//   mma_vectors
//   ./mma_vectors hopper_mma_special.bin
//
// The file: int32 n, then A n x 16 x 16 bf16, B n x 8 x 16 bf16 (column, then k), C and D n x 16 x
// 8 fp32, as hopper_mma_bf16.bin. Tile i draws its values by kind i mod 10, below.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "cuda/probe/cuda_check.hpp"

namespace {

constexpr int tiles = 400;
constexpr int kinds = 10;

struct Random {
  uint64_t state;
  uint32_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return static_cast<uint32_t>((z ^ (z >> 31)) >> 16);
  }
  uint32_t below(uint32_t n) { return next() % n; }
  bool one_in(uint32_t n) { return below(n) == 0; }
  uint16_t sign() { return one_in(2) ? 0x8000 : 0; }
};

// A bf16 whose biased exponent is in [low, high].
uint16_t bf16_in(Random& random, uint32_t low, uint32_t high) {
  const uint32_t field = low + random.below(high - low + 1);
  return static_cast<uint16_t>(random.sign() | field << 7 | random.below(128));
}
uint32_t fp32_in(Random& random, uint32_t low, uint32_t high) {
  const uint32_t field = low + random.below(high - low + 1);
  return static_cast<uint32_t>(random.sign()) << 16 | field << 23 | random.below(1u << 23);
}

uint16_t special_bf16(Random& random) {
  static const uint16_t pool[] = {0x0000, 0x8000, 0x7f80, 0xff80, 0x7fc0, 0xffc0, 0x7f81, 0x7fff,
                                  0x0001, 0x8001, 0x007f, 0x0080, 0x7f7f, 0xff7f, 0x3f80, 0xbf80};
  return pool[random.below(16)];
}
uint32_t special_fp32(Random& random) {
  static const uint32_t pool[] = {0x00000000, 0x80000000, 0x7f800000, 0xff800000,
                                  0x7fc00000, 0x7f800001, 0xffffffff, 0x00000001,
                                  0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff,
                                  0xff7fffff, 0x3f800000, 0xbf800000, 0x00400000};
  return pool[random.below(16)];
}

// The values of one tile. `before`: the tile before's results.
void draw(int kind, Random& random, uint16_t* a, uint16_t* b, uint32_t* c, const uint32_t* before) {
  const auto fill = [&](auto of_a, auto of_b, auto of_c) {
    for (int i = 0; i < 256; ++i) a[i] = of_a(i);
    for (int i = 0; i < 128; ++i) b[i] = of_b(i);
    for (int i = 0; i < 128; ++i) c[i] = of_c(i);
  };
  const auto usual = [&](int) { return bf16_in(random, 120, 130); };
  switch (kind) {
    case 0:  // zeros of both signs, and few other terms
      return fill([&](int) { return random.one_in(8) ? usual(0) : random.sign(); },
                  [&](int) { return random.one_in(3) ? usual(0) : random.sign(); },
                  [&](int) {
                    return random.one_in(3) ? fp32_in(random, 90, 130)
                                            : uint32_t{random.sign()} << 16;
                  });
    case 1:  // bf16 subnormals against large and small factors
      return fill([&](int) { return bf16_in(random, 0, random.one_in(2) ? 0 : 3); },
                  [&](int i) { return i / 16 % 2 ? bf16_in(random, 0, 254) : usual(i); },
                  [&](int) { return random.one_in(2) ? fp32_in(random, 0, 2) : 0u; });
    case 2:  // fp32-subnormal accumulators and results
      return fill([&](int) { return random.one_in(4) ? bf16_in(random, 50, 66) : random.sign(); },
                  [&](int) { return bf16_in(random, 50, 66); },
                  [&](int) { return fp32_in(random, 0, random.one_in(2) ? 0 : 4); });
    case 3:  // a row in two holds one infinity or NaN
      return fill(
          [&](int i) {
            return i % 32 == static_cast<int>(i / 32) ? special_bf16(random) : usual(i);
          },
          usual, [&](int) { return fp32_in(random, 110, 130); });
    case 4:  // infinities, NaN and zeros in accumulators, and rare in factors
      return fill([&](int) { return random.one_in(40) ? special_bf16(random) : usual(0); },
                  [&](int) { return random.one_in(40) ? special_bf16(random) : usual(0); },
                  [&](int) { return special_fp32(random); });
    case 5:  // results near and past the largest float
      return fill([&](int) { return bf16_in(random, 187, 191); },
                  [&](int) { return bf16_in(random, 187, 191); },
                  [&](int) { return fp32_in(random, 250, 254); });
    case 6:  // sums far past it that may come back: products of k and k + 8 cancel
      fill([&](int) { return bf16_in(random, 250, 254); },
           [&](int) { return bf16_in(random, 200, 254); },
           [&](int) { return fp32_in(random, 1, 254); });
      for (int i = 0; i < 256; ++i) {
        if (i % 16 >= 8 && !random.one_in(9)) a[i] = a[i - 8] ^ 0x8000;
      }
      for (int i = 0; i < 128; ++i) {
        if (i % 16 >= 8) b[i] = b[i - 8];
      }
      return;
    case 7:  // every exponent there is
      return fill([&](int) { return bf16_in(random, 0, 254); },
                  [&](int) { return bf16_in(random, 0, 254); },
                  [&](int) { return fp32_in(random, 0, 254); });
    case 8:  // the largest sums: significands near 2, one exponent, one sign; and exact
             // cancellation
      return fill(
          [&](int i) {
            return static_cast<uint16_t>((i / 16 % 4 == 0 ? random.sign() : 0) | 0x3ff8 |
                                         random.below(8));
          },
          [&](int i) {
            return static_cast<uint16_t>((i / 16 % 4 == 0 && i % 2 ? 0x8000 : 0) | 0x3ff8 |
                                         random.below(8));
          },
          [&](int) {
            return (random.one_in(2) ? 0x3ff00000u : 0x40700000u) | random.below(1u << 20);
          });
    default:  // a chain's next step
      return fill(usual, usual, [&](int i) { return before[i]; });
  }
}

__global__ void multiply(const uint32_t* a, const uint32_t* b, const float* c, float* d) {
  const int lane = threadIdx.x;
  const int row = lane / 4;
  const int pair = lane % 4;
  a += 128 * blockIdx.x;  // two bf16 a word: 16 x 8 words
  b += 64 * blockIdx.x;   // 8 x 8 words
  c += 128 * blockIdx.x;
  d += 128 * blockIdx.x;
  const uint32_t a0 = a[row * 8 + pair];
  const uint32_t a1 = a[(row + 8) * 8 + pair];
  const uint32_t a2 = a[row * 8 + pair + 4];
  const uint32_t a3 = a[(row + 8) * 8 + pair + 4];
  const uint32_t b0 = b[row * 8 + pair];
  const uint32_t b1 = b[row * 8 + pair + 4];
  const float c0 = c[row * 8 + 2 * pair];
  const float c1 = c[row * 8 + 2 * pair + 1];
  const float c2 = c[(row + 8) * 8 + 2 * pair];
  const float c3 = c[(row + 8) * 8 + 2 * pair + 1];
  float d0, d1, d2, d3;
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%10,%11,%12,%13};"
      : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3)
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "f"(c0), "f"(c1), "f"(c2), "f"(c3));
  d[row * 8 + 2 * pair] = d0;
  d[row * 8 + 2 * pair + 1] = d1;
  d[(row + 8) * 8 + 2 * pair] = d2;
  d[(row + 8) * 8 + 2 * pair + 1] = d3;
}

template <class T>
T* on_device(const std::vector<T>& values) {
  T* device = nullptr;
  ORTHROS_PROBE_CHECK(cudaMalloc(&device, values.size() * sizeof(T)));
  ORTHROS_PROBE_CHECK(
      cudaMemcpy(device, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: mma_vectors FILE\n");
    return 2;
  }
  std::vector<uint16_t> a(tiles * 256);
  std::vector<uint16_t> b(tiles * 128);
  std::vector<uint32_t> c(tiles * 128);
  std::vector<uint32_t> d(tiles * 128, 0xdeadbeef);
  Random random{20260101};
  auto* device_a = on_device(a);
  auto* device_b = on_device(b);
  auto* device_c = on_device(c);
  auto* device_d = on_device(d);
  for (int tile = 0; tile < tiles; ++tile) {  // one by one: a chain's tile starts from the last's
    uint32_t* tile_c = &c[tile * 128];
    draw(tile % kinds, random, &a[tile * 256], &b[tile * 128], tile_c,
         &d[(tile ? tile - 1 : 0) * 128]);
    ORTHROS_PROBE_CHECK(cudaMemcpy(device_a, &a[tile * 256], 512, cudaMemcpyHostToDevice));
    ORTHROS_PROBE_CHECK(cudaMemcpy(device_b, &b[tile * 128], 256, cudaMemcpyHostToDevice));
    ORTHROS_PROBE_CHECK(cudaMemcpy(device_c, tile_c, 512, cudaMemcpyHostToDevice));
    multiply<<<1, 32>>>(reinterpret_cast<uint32_t*>(device_a),
                        reinterpret_cast<uint32_t*>(device_b), reinterpret_cast<float*>(device_c),
                        reinterpret_cast<float*>(device_d));
    ORTHROS_PROBE_CHECK(cudaGetLastError());
    ORTHROS_PROBE_CHECK(cudaMemcpy(&d[tile * 128], device_d, 512, cudaMemcpyDeviceToHost));
  }
  std::FILE* file = std::fopen(argv[1], "wb");
  const int32_t n = tiles;
  bool written = file != nullptr && std::fwrite(&n, 4, 1, file) == 1;
  const auto write = [&](const auto& values) {
    written = written &&
              std::fwrite(values.data(), sizeof values[0], values.size(), file) == values.size();
  };
  write(a);
  write(b);
  write(c);
  write(d);
  if (file == nullptr || std::fclose(file) != 0 || !written) {
    std::fprintf(stderr, "%s: cannot write\n", argv[1]);
    return 1;
  }
  cudaDeviceProp device;
  ORTHROS_PROBE_CHECK(cudaGetDeviceProperties(&device, 0));
  std::printf("%d tiles from %s\n", tiles, device.name);
}
