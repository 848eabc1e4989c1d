// A scalar that counts multiply-adds while it computes in double.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>

#include "reference/model/arithmetic.hpp"

namespace orthros {

class Counting {
 public:
  Counting() = default;
  explicit Counting(double value) : value_(value) {}
  explicit operator double() const { return value_; }

  friend Counting operator+(Counting x, Counting y) { return Counting(x.value_ + y.value_); }
  friend Counting operator-(Counting x, Counting y) { return Counting(x.value_ - y.value_); }
  friend Counting operator*(Counting x, Counting y) { return Counting(x.value_ * y.value_); }
  friend Counting operator/(Counting x, Counting y) { return Counting(x.value_ / y.value_); }
  friend Counting operator-(Counting x) { return Counting(-x.value_); }
  friend Counting max(Counting x, Counting y) { return Counting(std::max(x.value_, y.value_)); }
  friend Counting exp(Counting x) { return Counting(std::exp(x.value_)); }
  friend Counting log1p(Counting x) { return Counting(std::log1p(x.value_)); }
  friend Counting sqrt(Counting x) { return Counting(std::sqrt(x.value_)); }
  friend Counting abs(Counting x) { return Counting(std::abs(x.value_)); }

  friend Counting multiply_add(const Counting& sum, const Counting& x, const Counting& y) {
    multiply_adds_.fetch_add(1, std::memory_order_relaxed);
    return sum + x * y;
  }

  // Multiply-adds of the whole process since the last reset.
  static int64_t multiply_adds() { return multiply_adds_.load(); }
  static void reset() { multiply_adds_.store(0); }

 private:
  double value_ = 0.0;
  static inline std::atomic<int64_t> multiply_adds_{0};
};

}  // namespace orthros
