// Law: how long a kernel takes, given what it computes and moves.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/op.hpp"

namespace orthros {

// A smooth factor exp(p(x)) over an op's shape, p a polynomial in log2 of its sizes: (m, n, k) of
// a GEMM; (sequences, query rows per sequence, keys per row) of prefill attention; (sequences) of
// decode attention. Inputs are clamped to the fitted range, so it never extrapolates.
struct ShapeFactor {
  struct Term {
    std::array<int, 3> powers{};
    double coefficient = 0.0;
  };
  std::array<double, 3> lowest{}, highest{};  // of log2 of each size, where it was fitted
  std::vector<Term> terms;                    // in x scaled to [-1, 1] over that range

  double operator()(const std::array<double, 3>& log2_sizes) const;  // exp(p(x))
  std::array<double, 3> scaled(const std::array<double, 3>& log2_sizes) const;
};

// Sizes that a ShapeFactor takes, as log2.
std::array<double, 3> shape_of(const Op& op);

// Memory traffic below `up_to_bytes` moves at this bandwidth (caches), what is above it slower.
struct MemoryTier {
  double up_to_bytes = 0.0;
  double bandwidth = 0.0;  // bytes per second; in a profile, a fraction of the hardware's
};

// seconds of a launch = launch + (max of parts + overlap_loss x (their sum - max)) x shape factor;
// parts: FLOPs / rate, bytes through the tiers, sequences x per_sequence.  overlap_loss 0 is a
// roofline, 1 is plain addition. Rates are in FLOP/s and bytes/s here; a Profile holds the same
// struct with both as fractions of the hardware's peak and bandwidth.
struct Law {
  double launch_s = 0.0;
  double rate = 0.0;              // 0: computing takes no time
  double bandwidth = 0.0;         // beyond the tiers; 0: moving takes no time
  std::vector<MemoryTier> tiers;  // ascending
  double overlap_loss = 0.0;
  double per_sequence_s = 0.0;   // of each sequence beyond free_sequences
  double free_sequences = 0.0;   // that fill the GPU's first wave
  double window_overread = 0.0;  // keys that a windowed kernel visits per row beyond the window
  double latency_s = 0.0;        // communication: per message
  // What it draws, as a share of the power that the device may draw: a step of prefill whose ops
  // draw more on average is stretched until they do not (clocks fall).
  double power = 0.0;
  ShapeFactor shape;

  // One launch.
  double seconds(const Op& op) const;
  // What bounds it: "compute", "memory", "launch" or "network".
  const char* bound(const Op& op) const;
  // One launch in each of `steps` steps, the i-th with i times the op's growth: exact up to
  // rounding, by splitting where tiers are crossed and where another part becomes the largest.
  double sum_seconds(const Op& op, int64_t steps) const;

 private:
  struct Parts;
  Parts parts(const Op& op, double step) const;
  double combined(const Parts& parts) const;
  double memory_seconds(double bytes) const;
  double segment_sum(const Op& op, double first, double last) const;
};

}  // namespace orthros
