// A linear layer y = x W^T whose every output has one fixed order of accumulation.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "reference/model/arithmetic.hpp"
#include "reference/model/parallel.hpp"

namespace orthros {

// W is out x in. Each output element is sum_k x[k] W[o][k] with k ascending from zero, one
// multiply-add at a time, so a row's result has the same bits whatever rows stand beside it
// (Eigen's blocked product promises no such thing). Weights are kept in panels of `lanes` outputs,
// k-major, so that the outputs of a panel advance together as vector lanes and `block` rows share
// each load of weights.
template <class S>
class Linear {
 public:
  Linear() = default;
  Linear(int64_t out, int64_t in)
      : out_(out),
        in_(in),
        panels_(static_cast<size_t>(((out + lanes - 1) / lanes) * in * lanes)) {}

  int64_t out() const { return out_; }
  int64_t in() const { return in_; }

  // Sets output o's weights, `in` values.
  void set_row(int64_t o, const S* weights) {
    S* panel = panel_of(o / lanes);
    for (int64_t k = 0; k < in_; ++k) panel[k * lanes + o % lanes] = weights[k];
  }

  // x: rows x in. Result: rows x out in Result (S, rounded once, or Accumulator<S>).
  template <class Result = S>
  Matrix<Result> operator()(const Matrix<S>& x) const {
    assert(x.cols() == in_);
    Matrix<Result> y(x.rows(), out_);
    const int64_t panels = (out_ + lanes - 1) / lanes;
    parallel_for(panels, x.rows() * out_ * in_, [&](int64_t p) {
      const int64_t width = std::min<int64_t>(lanes, out_ - p * lanes);
      int64_t row = 0;
      if (width == lanes) {
        for (; row + block <= x.rows(); row += block) multiply<block, lanes>(x, p, row, lanes, y);
      }
      for (; row < x.rows(); ++row) {
        if (width == lanes) {
          multiply<1, lanes>(x, p, row, lanes, y);
        } else {
          multiply<1, 0>(x, p, row, width, y);
        }
      }
    });
    return y;
  }

 private:
  static constexpr int lanes = std::is_same_v<S, double> ? 4 : 8;
  static constexpr int block = 4;

  S* panel_of(int64_t p) { return panels_.data() + p * in_ * lanes; }
  const S* panel_of(int64_t p) const { return panels_.data() + p * in_ * lanes; }

  // Rows [row, row + Rows) times panel p. FixedWidth 0: only `width` lanes of the panel exist.
  template <size_t Rows, int FixedWidth, class Result>
  void multiply(const Matrix<S>& x, int64_t p, int64_t row, int64_t width,
                Matrix<Result>& y) const {
    using A = Accumulator<S>;
    using Lanes = Eigen::Array<A, lanes, 1>;
    const int64_t n = FixedWidth > 0 ? FixedWidth : width;
    std::array<Lanes, Rows> sum;
    for (Lanes& lane_sums : sum) lane_sums.fill(A(0.0));
    const S* weights = panel_of(p);
    for (int64_t k = 0; k < in_; ++k, weights += lanes) {
      if constexpr (FixedWidth > 0 && std::is_floating_point_v<A>) {
        // The same multiply_add in every lane, spelled so that the lanes stay in registers.
        const Lanes w = Eigen::Map<const Eigen::Array<S, lanes, 1>>(weights).unaryExpr(
            [](const S& weight) { return widen(weight); });
        for (size_t r = 0; r < Rows; ++r) sum[r] += w * widen(x(row + static_cast<int64_t>(r), k));
      } else {
        for (size_t r = 0; r < Rows; ++r) {
          const A value = widen(x(row + static_cast<int64_t>(r), k));
          for (int64_t j = 0; j < n; ++j) {
            sum[r][j] = multiply_add(sum[r][j], widen(weights[j]), value);
          }
        }
      }
    }
    for (size_t r = 0; r < Rows; ++r) {
      const int64_t at = row + static_cast<int64_t>(r);
      for (int64_t j = 0; j < n; ++j) y(at, p * lanes + j) = static_cast<Result>(sum[r][j]);
    }
  }

  int64_t out_ = 0;
  int64_t in_ = 0;
  std::vector<S> panels_;
};

}  // namespace orthros
