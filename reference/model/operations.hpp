// What a scalar may compute in an order of its own: the operations that forward calls through it.
#pragma once

#include <cmath>
#include <cstdint>

#include "reference/model/activations.hpp"
#include "reference/model/arithmetic.hpp"
#include "reference/model/softmax_attention.hpp"
#include "reference/spec/model_spec.hpp"

namespace orthros {

// One KV head's cached entries of a sequence: entry j's key at keys + j * stride, `width` values;
// its value likewise.
template <class S>
struct HeadEntries {
  const S* keys = nullptr;
  const S* values = nullptr;
  int64_t stride = 0;
  int64_t width = 0;
};

// The operations as any scalar has them. A scalar whose arithmetic fixes other orders specialises
// this, and Linear.
template <class S>
struct Operations {
  using A = Accumulator<S>;

  // Whether recurrent mixers are defined in this scalar.
  static constexpr bool recurrent = true;
  // Throws InputError where the scalar cannot run the model.
  static void check(const ModelSpec&) {}

  // 1 / sqrt(mean of squares + eps) of `width` values (S or A), summed in ascending order.
  template <class T>
  static A inverse_rms(const T* x, int64_t width, double eps) {
    using std::sqrt;
    A sum(0.0);
    for (int64_t i = 0; i < width; ++i) sum = sum + widen(x[i]) * widen(x[i]);
    return A(1.0) / sqrt(sum / A(static_cast<double>(width)) + A(eps));
  }

  static A sigmoid(const A& x) { return orthros::sigmoid(x); }
  static A silu(const A& x) { return orthros::silu(x); }

  static A scale_offset(const A& alpha, const A& x, const A& beta) { return alpha * x + beta; }

  // Turns the pair (x, y) by an angle.
  static void rotate(A& x, A& y, const A& cosine, const A& sine) {
    const A first = x * cosine - y * sine;
    y = y * cosine + x * sine;
    x = first;
  }

  // A KV head's entries as attend reads them, all that lie in `read`.
  using Entries = HeadEntries<S>;
  static Entries entries(const HeadEntries<S>& head, KeyRange) { return head; }

  // Softmax attention of the `heads` query heads of one row that share a KV head. q, o: heads x
  // width.
  static void attend(const S* q, int64_t heads, const Entries& entries, KeyRange range, S* o) {
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t at = h * entries.width;
      orthros::attend(q + at, entries.keys, entries.values, entries.stride, entries.width, range,
                      o + at);
    }
  }
};

}  // namespace orthros
