// Linear against Eigen's product, and that a row's bits ignore the rows beside it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/model/counting.hpp"
#include "reference/model/linear.hpp"
#include "reference/weights/counter_random.hpp"

namespace orthros {
namespace {

template <class S>
Matrix<S> random_matrix(int64_t rows, int64_t cols, const char* name) {
  const CounterRandom random(5, name);
  Matrix<S> m(rows, cols);
  for (int64_t i = 0; i < m.size(); ++i) m.data()[i] = S(random.normal(static_cast<uint64_t>(i)));
  return m;
}

template <class S>
Linear<S> linear_of(const Matrix<S>& weights) {
  Linear<S> linear(weights.rows(), weights.cols());
  for (int64_t o = 0; o < weights.rows(); ++o) linear.set_row(o, &weights(o, 0));
  return linear;
}

template <class S>
Matrix<double> to_double(const Matrix<S>& m) {
  return m.unaryExpr([](const S& x) { return static_cast<double>(x); });
}

struct Shape {
  int64_t rows, out, in;
};
const Shape shapes[] = {{1, 1, 1}, {1, 9, 3}, {3, 4, 7}, {4, 8, 16}, {5, 13, 31}, {9, 17, 64}};

// A sum of n products in any order is off by at most n u / (1 - n u) sum |x w| (Higham, Accuracy
// and Stability of Numerical Algorithms, eq. 3.5), u being half the accumulator's epsilon; the
// result's own rounding adds half its epsilon. Eigen's product in double is off by as much with
// double's u.
template <class S>
void expect_near_eigen(double result_epsilon) {
  using A = Accumulator<S>;
  const double u = static_cast<double>(std::numeric_limits<A>::epsilon()) / 2.0;
  for (const Shape& shape : shapes) {
    const Matrix<S> x = random_matrix<S>(shape.rows, shape.in, "x");
    const Matrix<S> w = random_matrix<S>(shape.out, shape.in, "w");
    const Matrix<double> y = to_double(linear_of(w)(x));
    const Matrix<double> exact = to_double(x) * to_double(w).transpose();
    const Matrix<double> size = to_double(x).cwiseAbs() * to_double(w).cwiseAbs().transpose();
    const double n = static_cast<double>(shape.in);
    const double sums =
        n * u / (1.0 - n * u) + n * std::numeric_limits<double>::epsilon();  // ours and Eigen's
    for (int64_t i = 0; i < y.size(); ++i) {
      const double bound = sums * size.data()[i] * (1.0 + result_epsilon) +
                           result_epsilon / 2.0 * std::abs(exact.data()[i]);
      EXPECT_LE(std::abs(y.data()[i] - exact.data()[i]), bound)
          << shape.rows << " x " << shape.in << " x " << shape.out;
    }
  }
}

TEST(linear, equals_eigens_product_in_double) {
  expect_near_eigen<double>(0.0);
}

TEST(linear, equals_eigens_product_in_float) {
  expect_near_eigen<float>(0.0);
}

TEST(linear, equals_eigens_product_in_bfloat16) {
  expect_near_eigen<bfloat16>(0x1p-7);
}

template <class S>
void expect_row_invariant() {
  for (const Shape& shape : shapes) {
    const Matrix<S> x = random_matrix<S>(shape.rows + 8, shape.in, "x");
    const Linear<S> linear = linear_of(random_matrix<S>(shape.out, shape.in, "w"));
    const Matrix<S> together = linear(x);
    for (int64_t first = 0; first < x.rows(); ++first) {
      for (int64_t count = 1; first + count <= x.rows(); ++count) {
        const Matrix<S> alone = linear(Matrix<S>(x.middleRows(first, count)));
        ASSERT_EQ(to_double(alone), to_double(Matrix<S>(together.middleRows(first, count))));
      }
    }
  }
}

TEST(linear, a_row_ignores_the_rows_beside_it) {
  expect_row_invariant<double>();
  expect_row_invariant<float>();
  expect_row_invariant<bfloat16>();
}

TEST(linear, of_no_rows_gives_no_rows) {
  const Linear<double> linear = linear_of(random_matrix<double>(5, 3, "w"));
  const Matrix<double> none = linear(Matrix<double>(0, 3));
  EXPECT_EQ(none.rows(), 0);
  EXPECT_EQ(none.cols(), 5);
}

TEST(linear, counts_rows_x_in_x_out_multiply_adds) {
  for (const Shape& shape : shapes) {
    const Linear<Counting> linear = linear_of(random_matrix<Counting>(shape.out, shape.in, "w"));
    Counting::reset();
    const Matrix<Counting> y = linear(random_matrix<Counting>(shape.rows, shape.in, "x"));
    EXPECT_EQ(Counting::multiply_adds(), shape.rows * shape.in * shape.out);
    const Matrix<double> plain = linear_of(random_matrix<double>(shape.out, shape.in, "w"))(
        random_matrix<double>(shape.rows, shape.in, "x"));
    EXPECT_EQ(to_double(y), plain);  // it computes what double computes
  }
}

}  // namespace
}  // namespace orthros
