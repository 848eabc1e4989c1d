// Panels, rows made ready, and the choice of vector width at run time.
#include "reference/hopper/dot_panel.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cfenv>

#include "reference/hopper/panel_kernel.hpp"
#include "reference/hopper/rounding.hpp"

namespace orthros::hopper {

namespace {

using Kernel = void (*)(const KernelRow* rows, const uint16_t* panel, int64_t length,
                        KernelResult* results);

// Not inlined: the rounding mode set around a call must hold for all of it and nothing else.
template <size_t Rows>
[[gnu::noinline]] void run_4(const KernelRow* rows, const uint16_t* panel, int64_t length,
                             KernelResult* results) {
  run_panel<4, Rows>(rows, panel, length, results);
}
#if defined(__x86_64__)
template <size_t Rows>
[[gnu::noinline, gnu::target("avx2")]] void run_8(const KernelRow* rows, const uint16_t* panel,
                                                  int64_t length, KernelResult* results) {
  run_panel<8, Rows>(rows, panel, length, results);
}
template <size_t Rows>
[[gnu::noinline, gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void run_16(
    const KernelRow* rows, const uint16_t* panel, int64_t length, KernelResult* results) {
  run_panel<16, Rows>(rows, panel, length, results);
}
#endif

// The kernels of one width.
struct Width {
  int64_t floats;
  Kernel one_row;
  Kernel block_of_rows;
  int64_t (*place)(int64_t lane);
};

constexpr auto block = static_cast<size_t>(PanelRows::block);
constexpr Width widths[] = {
    {4, run_4<1>, run_4<block>, place_of<4>},
#if defined(__x86_64__)
    {8, run_8<1>, run_8<block>, place_of<8>},
    {16, run_16<1>, run_16<block>, place_of<16>},
#endif
};

const Width* widest_up_to(int64_t limit) {
  const Width* best = &widths[0];
#if defined(__x86_64__)
  if (limit >= 8 && __builtin_cpu_supports("avx2")) best = &widths[1];
  if (limit >= 16 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    best = &widths[2];
  }
#endif
  return best;
}

std::atomic<const Width*>& chosen() {
  static std::atomic<const Width*> width = widest_up_to(16);
  return width;
}

// Rounding toward zero while it lives.
class TowardZero {
 public:
  TowardZero() : before_(std::fegetround()) { std::fesetround(FE_TOWARDZERO); }
  ~TowardZero() { std::fesetround(before_); }
  TowardZero(const TowardZero&) = delete;
  TowardZero& operator=(const TowardZero&) = delete;

 private:
  int before_;
};

}  // namespace

void Panel::resize(int64_t length) {
  values_.assign(static_cast<size_t>(length * panel_lanes), 0);
  finite_ = true;
}

void Panel::set_output(int64_t o, const uint16_t* values, int64_t stride) {
  for (int64_t k = 0; k < length(); ++k) {
    const uint16_t value = values[k * stride];
    finite_ = finite_ && (value & 0x7f80) != 0x7f80;
    values_[static_cast<size_t>(k * panel_lanes + o)] = value;
  }
}

void Panel::set_value(int64_t k, const uint16_t* values, int64_t outputs) {
  bool finite = true;
  for (int64_t o = 0; o < outputs; ++o) {
    finite = finite && (values[o] & 0x7f80) != 0x7f80;
    values_[static_cast<size_t>(k * panel_lanes + o)] = values[o];
  }
  finite_ = finite_ && finite;
}

PanelRows::PanelRows(const uint16_t* bits, int64_t rows, int64_t length, int64_t stride)
    : rows_(rows),
      length_(length),
      steps_((length + step_terms - 1) / step_terms),
      stride_(stride),
      bits_(bits),
      values_(static_cast<size_t>(rows * length)),
      exponents_(static_cast<size_t>(rows * length)),
      not_zero_(static_cast<size_t>(rows * steps_)),
      regular_(static_cast<size_t>(rows), 1) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t k = 0; k < length; ++k) {
      const uint16_t value = bits[r * stride + k];
      const auto at = static_cast<size_t>(r * length + k);
      const bool zero = (value & 0x7fff) == 0;
      const int32_t exponent = zero ? exponent_of_zero : term_of_bf16(value).exponent;
      values_[at] = widen_bf16(value);
      exponents_[at] = static_cast<int32_t>(static_cast<uint32_t>(exponent & 0xffff) * 0x10001u);
      if (!zero) not_zero_[static_cast<size_t>(r * steps_ + k / step_terms)] = ~0u;
      if (exponent > most_row_exponent) regular_[static_cast<size_t>(r)] = 0;
    }
  }
}

void PanelRows::multiply(const Panel& panel, int64_t from, int64_t outputs, float* out,
                         int64_t out_stride) const {
  assert(from + length_ <= panel.length() && outputs <= panel_lanes);
  const Width& width = *chosen().load(std::memory_order_relaxed);
  const uint16_t* factors = panel.values() + from * panel_lanes;
  KernelRow rows[block];
  KernelResult results[block];
  for (int64_t r = 0; r < rows_;) {
    const int64_t together = rows_ - r >= PanelRows::block ? PanelRows::block : 1;
    for (int64_t i = 0; i < together; ++i) {
      rows[i] = {values_.data() + (r + i) * length_, exponents_.data() + (r + i) * length_,
                 not_zero_.data() + (r + i) * steps_};
    }
    {
      const TowardZero rounding;
      (together == 1 ? width.one_row : width.block_of_rows)(rows, factors, length_, results);
    }
    for (int64_t i = 0; i < together; ++i, ++r) {
      const bool trusted = panel.finite() && regular_[static_cast<size_t>(r)] != 0;
      for (int64_t o = 0; o < outputs; ++o) {
        const int64_t at = width.place(o);
        out[r * out_stride + o] =
            trusted && results[i].doubts[at] == 0
                ? results[i].sums[at]
                : dot_chain(bits_ + r * stride_, 1, factors + o, panel_lanes, length_);
      }
    }
  }
}

int64_t panel_vector_width() {
  return chosen().load()->floats;
}

void limit_panel_vectors(int64_t width) {
  chosen().store(widest_up_to(width));
}

}  // namespace orthros::hopper
