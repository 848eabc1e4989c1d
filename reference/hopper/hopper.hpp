// Hopper: the scalar that runs the model in the engine's arithmetic, bit for bit (ARITHMETIC.md).
#pragma once

#include <vector>

#include "reference/hopper/dot_panel.hpp"
#include "reference/hopper/norm_order.hpp"
#include "reference/hopper/pointwise.hpp"
#include "reference/model/linear.hpp"
#include "reference/model/operations.hpp"

namespace orthros {

// A bf16 value, held as bits. Its accumulator is float. What is different from bfloat16 is the
// order and rounding of the operations on it, all of which are below.
class Hopper {
 public:
  Hopper() = default;
  explicit Hopper(float value) : bits_(hopper::round_bf16(value)) {}
  explicit Hopper(double value) : bits_(bfloat16(value).bits()) {}  // rounded once

  explicit operator float() const { return hopper::widen_bf16(bits_); }
  explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
  uint16_t bits() const { return bits_; }

 private:
  uint16_t bits_;
};
static_assert(sizeof(Hopper) == 2 && std::is_standard_layout_v<Hopper>);

// The bit patterns of consecutive values.
inline const uint16_t* bits_of(const Hopper* values) {
  return reinterpret_cast<const uint16_t*>(values);
}

template <>
struct Arithmetic<Hopper> {
  using Accumulator = float;
};

// y = x W^T, each output a dot_chain over the inputs.
template <>
class Linear<Hopper> {
 public:
  Linear() = default;
  Linear(int64_t out, int64_t in);

  int64_t out() const { return out_; }
  int64_t in() const { return in_; }
  void set_row(int64_t o, const Hopper* weights);

  template <class Result = Hopper>
  Matrix<Result> operator()(const Matrix<Hopper>& x) const {
    const Matrix<float> y = multiply(x);
    if constexpr (std::is_same_v<Result, float>) {
      return y;
    } else {
      return y.unaryExpr([](float value) { return Result(value); });
    }
  }

 private:
  Matrix<float> multiply(const Matrix<Hopper>& x) const;

  int64_t out_ = 0;
  int64_t in_ = 0;
  std::vector<hopper::Panel> panels_;
};

// A KV head's entries, laid out for dot_chain.
class HopperEntries {
 public:
  HopperEntries() = default;
  HopperEntries(const HeadEntries<Hopper>& head, KeyRange read);

  // q, o: heads x width.
  void attend(const Hopper* q, int64_t heads, KeyRange range, Hopper* o) const;

 private:
  struct Rows;  // the heads' unnormalised softmax over a part of the range

  Rows attend_part(const hopper::PanelRows& q, int64_t begin, int64_t end, int64_t first) const;
  void attend_plainly(const Hopper* q, int64_t heads, KeyRange range, Hopper* o) const;

  HeadEntries<Hopper> head_;
  int64_t begin_ = 0;                  // first entry in the panels
  std::vector<hopper::Panel> keys_;    // panel_lanes entries each, over the width
  std::vector<hopper::Panel> values_;  // panel_lanes channels each, over the entries
};

template <>
struct Operations<Hopper> {
  static constexpr bool recurrent = false;
  static void check(const ModelSpec& spec);

  static float inverse_rms(const Hopper* x, int64_t width, double eps) {
    return hopper::inverse_root(hopper::sum_of_squares(bits_of(x), width), width,
                                static_cast<float>(eps));
  }
  static float inverse_rms(const float* x, int64_t width, double eps) {
    return hopper::inverse_root(hopper::sum_of_squares(x, width), width, static_cast<float>(eps));
  }
  static float sigmoid(float x) { return hopper::sigmoid(x); }
  static float silu(float x) { return hopper::silu(x); }
  static float scale_offset(float alpha, float x, float beta) {
    return hopper::scale_offset(alpha, x, beta);
  }
  static void rotate(float& x, float& y, float cosine, float sine) {
    const float first = hopper::rotated_first(x, y, cosine, sine);
    y = hopper::rotated_second(x, y, cosine, sine);
    x = first;
  }

  using Entries = HopperEntries;
  static Entries entries(const HeadEntries<Hopper>& head, KeyRange read) { return {head, read}; }
  static void attend(const Hopper* q, int64_t heads, const Entries& entries, KeyRange range,
                     Hopper* o) {
    entries.attend(q, heads, range, o);
  }
};

}  // namespace orthros
