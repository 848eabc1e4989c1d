// The pointwise functions, written without a branch on a value.
#pragma once

#include <algorithm>
#include <cmath>

namespace orthros {

template <class A>
A sigmoid(const A& x) {
  using std::exp;
  return A(1.0) / (A(1.0) + exp(-x));
}

template <class A>
A silu(const A& x) {
  using std::exp;
  return x / (A(1.0) + exp(-x));
}

// log(1 + e^x), in a form that neither overflows nor loses small terms.
template <class A>
A softplus(const A& x) {
  using std::abs;
  using std::exp;
  using std::log1p;
  using std::max;
  return max(x, A(0.0)) + log1p(exp(-abs(x)));
}

template <class A>
A log_sigmoid(const A& x) {
  return -softplus(A(-x));
}

}  // namespace orthros
