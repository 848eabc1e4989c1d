// Evaluates laws and sums them over runs of steps.
#include "sim/law.hpp"

#include <algorithm>
#include <cmath>

namespace orthros {
namespace {

double log2_of(int64_t size) {
  return std::log2(static_cast<double>(std::max<int64_t>(size, 1)));
}

// The first step past the crossing of two affine functions with these values at steps first, last.
void add_crossing(double first, double last, double a0, double a1, double b0, double b1,
                  std::array<double, 5>& cuts, int& n) {
  const double gap0 = a0 - b0;
  const double gap1 = a1 - b1;
  if ((gap0 < 0.0) == (gap1 < 0.0) || gap0 == gap1) return;
  const double cut = std::ceil(first + (last - first) * gap0 / (gap0 - gap1));
  if (cut > first && cut <= last) cuts[static_cast<size_t>(n++)] = cut;
}

}  // namespace

std::string_view name_of(Stage stage) {
  return stage == Stage::prefill ? "prefill" : "decode";
}

std::string_view name_of(OpKind kind) {
  switch (kind) {
    case OpKind::gemm:
      return "gemm";
    case OpKind::prefill_attention:
      return "prefill-attention";
    case OpKind::decode_attention:
      return "decode-attention";
    case OpKind::recurrence:
      return "recurrence";
    case OpKind::elementwise:
      return "elementwise";
    case OpKind::communication:
      break;
  }
  return "communication";
}

std::array<double, 3> ShapeFactor::scaled(const std::array<double, 3>& log2_sizes) const {
  std::array<double, 3> x{};
  for (size_t i = 0; i < 3; ++i) {
    const double width = highest[i] - lowest[i];
    if (width <= 0.0) continue;
    x[i] = 2.0 * (std::clamp(log2_sizes[i], lowest[i], highest[i]) - lowest[i]) / width - 1.0;
  }
  return x;
}

double ShapeFactor::operator()(const std::array<double, 3>& log2_sizes) const {
  const std::array<double, 3> x = scaled(log2_sizes);
  double sum = 0.0;
  for (const Term& term : terms) {
    double product = term.coefficient;
    for (size_t i = 0; i < 3; ++i) {
      for (int p = 0; p < term.powers[i]; ++p) product *= x[i];
    }
    sum += product;
  }
  return std::exp(sum);
}

std::array<double, 3> shape_of(const Op& op) {
  switch (op.kind) {
    case OpKind::gemm:
      return {log2_of(op.m), log2_of(op.n), log2_of(op.k)};
    case OpKind::prefill_attention:
      return {log2_of(op.sequences), log2_of(op.rows) - log2_of(op.sequences),
              log2_of(op.pairs) - log2_of(op.rows)};
    default:
      return {log2_of(op.sequences), 0.0, 0.0};
  }
}

struct Law::Parts {
  double compute, memory, sequences;
  double largest() const { return std::max({compute, memory, sequences}); }
  double sum() const { return compute + memory + sequences; }
};

double Law::memory_seconds(double bytes) const {
  double seconds = 0.0;
  double from = 0.0;
  for (const MemoryTier& tier : tiers) {
    if (bytes <= tier.up_to_bytes) return seconds + (bytes - from) / tier.bandwidth;
    seconds += (tier.up_to_bytes - from) / tier.bandwidth;
    from = tier.up_to_bytes;
  }
  return bandwidth > 0.0 ? seconds + (bytes - from) / bandwidth : seconds;
}

Law::Parts Law::parts(const Op& op, double step) const {
  const double flops = static_cast<double>(op.flops) + step * static_cast<double>(op.flops_growth) +
                       std::min(window_overread * static_cast<double>(op.overread_flops),
                                static_cast<double>(op.overread_flops_most));
  const double bytes = static_cast<double>(op.bytes()) +
                       step * static_cast<double>(op.bytes_growth) +
                       window_overread * static_cast<double>(op.overread_bytes);
  return {rate > 0.0 ? flops / rate : 0.0, memory_seconds(bytes),
          per_sequence_s * std::max(0.0, static_cast<double>(op.sequences) - free_sequences)};
}

double Law::combined(const Parts& p) const {
  const double largest = p.largest();
  return largest + overlap_loss * (p.sum() - largest);
}

double Law::seconds(const Op& op) const {
  const double work = combined(parts(op, 0.0));
  const double factor = shape.terms.empty() ? 1.0 : shape(shape_of(op));
  return launch_s + latency_s * static_cast<double>(op.sequences) + work * factor;
}

const char* Law::bound(const Op& op) const {
  if (op.kind == OpKind::communication) return "network";
  const Parts p = parts(op, 0.0);
  if (launch_s + p.sequences > std::max(p.compute, p.memory)) return "launch";
  return p.compute > p.memory ? "compute" : "memory";
}

// Steps first .. last-1, between which no tier ends: the parts are affine there, so their largest
// is found between crossings and each stretch is an arithmetic series.
double Law::segment_sum(const Op& op, double first, double last) const {
  const Parts a = parts(op, first);
  const double end = last - 1.0;
  const Parts b = parts(op, end);
  std::array<double, 5> cuts{first};
  int n = 1;
  add_crossing(first, end, a.compute, b.compute, a.memory, b.memory, cuts, n);
  add_crossing(first, end, a.compute, b.compute, a.sequences, b.sequences, cuts, n);
  add_crossing(first, end, a.memory, b.memory, a.sequences, b.sequences, cuts, n);
  cuts[static_cast<size_t>(n++)] = last;
  // By heap: gcc 12 takes std::sort's branch for long ranges for a read past these five.
  std::make_heap(cuts.begin(), cuts.begin() + n);
  std::sort_heap(cuts.begin(), cuts.begin() + n);
  double total = 0.0;
  for (int i = 0; i + 1 < n; ++i) {
    const double from = cuts[static_cast<size_t>(i)];
    const double to = cuts[static_cast<size_t>(i) + 1];
    if (to <= from) continue;
    total += (to - from) / 2.0 * (combined(parts(op, from)) + combined(parts(op, to - 1.0)));
  }
  return total;
}

double Law::sum_seconds(const Op& op, int64_t steps) const {
  if (steps <= 0) return 0.0;
  const auto count = static_cast<double>(steps);
  if (op.flops_growth == 0 && op.bytes_growth == 0) return count * seconds(op);
  const double factor = shape.terms.empty() ? 1.0 : shape(shape_of(op));
  const double start =
      static_cast<double>(op.bytes()) + window_overread * static_cast<double>(op.overread_bytes);
  double work = 0.0;
  double first = 0.0;
  for (const MemoryTier& tier : tiers) {
    if (op.bytes_growth <= 0 || first >= count) break;
    // The tier's end belongs to both neighbours; the first step past it starts the next stretch.
    const double past =
        std::floor((tier.up_to_bytes - start) / static_cast<double>(op.bytes_growth)) + 1.0;
    const double last = std::clamp(past, first, count);
    if (last > first) work += segment_sum(op, first, last);
    first = last;
  }
  if (first < count) work += segment_sum(op, first, count);
  return count * (launch_s + latency_s * static_cast<double>(op.sequences)) + work * factor;
}

}  // namespace orthros
