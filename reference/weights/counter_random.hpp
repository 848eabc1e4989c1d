// CounterRandom: random numbers by index, the same bits on every platform.
#pragma once

#include <cstdint>
#include <string_view>

namespace orthros {

// A stream of random numbers in which the i-th is a function of (seed, name, i) alone: draws may
// happen in any order, on any thread or device. Integer operations modulo 2^64 and one exact
// multiplication, no libm. bits() is SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) jumped to its
// i-th output; its start is a hash of seed and name, so that each tensor has a stream of its own.
// Draw one kind of number from a stream: bits, uniform and normal share the same words.
class CounterRandom {
 public:
  constexpr CounterRandom(uint64_t seed, std::string_view stream_name)
      : key_(mix(mix(seed + gamma) ^ hash(stream_name))) {}

  // 64 uniform bits.
  constexpr uint64_t bits(uint64_t index) const { return mix(key_ + (index + 1) * gamma); }

  // Uniform in [0, 1): a multiple of 2^-53.
  constexpr double uniform(uint64_t index) const {
    return static_cast<double>(bits(index) >> 11) * 0x1p-53;
  }

  // Nearly normal, mean exactly 0, variance 1 - 2^-32, within (-6, 6), excess kurtosis -0.1: the
  // sum (Irwin-Hall) of 12 uniform lanes (u + 1/2) / 65536, u of 16 bits, less 6. As an integer the
  // sum of the u less its mean 12 x 65535 / 2 = 393210, times 2^-16: 20 bits, exact even in float.
  constexpr double normal(uint64_t index) const {
    int64_t sum = -393210;
    for (uint64_t word = 0; word < 3; ++word) {
      const uint64_t lanes = bits(3 * index + word);
      for (int shift = 0; shift < 64; shift += 16) {
        sum += static_cast<int64_t>((lanes >> shift) & 0xffff);
      }
    }
    return static_cast<double>(sum) * 0x1p-16;
  }

 private:
  static constexpr uint64_t gamma = 0x9e3779b97f4a7c15;  // odd, 2^64 over the golden ratio

  // SplitMix64's finaliser, a bijection of 64 bits.
  static constexpr uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // FNV-1a over the name's bytes.
  static constexpr uint64_t hash(std::string_view text) {
    uint64_t h = 0xcbf29ce484222325;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return h;
  }

  uint64_t key_;
};

}  // namespace orthros
