// Three tokens through each recurrence and through attention, worked out by hand to six decimals.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/model/chunkwise.hpp"
#include "reference/model/softmax_attention.hpp"

namespace orthros {
namespace {

// The answers are written with six decimals: half a unit. They come from arithmetic that is float32
// in part, where values up to 4 are rounded by up to 2.4e-7 each: half a unit more for two of
// those.
constexpr double unit = 1e-6;

using Rows = std::vector<std::vector<double>>;

Matrix<double> matrix(const Rows& rows) {
  Matrix<double> m(static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size()));
  for (int64_t r = 0; r < m.rows(); ++r) {
    for (int64_t c = 0; c < m.cols(); ++c) {
      m(r, c) = rows[static_cast<size_t>(r)][static_cast<size_t>(c)];
    }
  }
  return m;
}

const Rows q_rows = {{1, 0, .5, -.5}, {.5, 1, -.5, 0}, {0, -1, 1, .5}};
const Rows k_rows = {{.5, .5, 0, 1}, {1, 0, 1, .5}, {-.5, 1, .5, 0}};
const Rows v_rows = {{1, 2, 3, 4}, {2, 1, 0, 3}, {3, 0, 1, 2}};

struct Worked {
  Recurrence kind;
  Matrix<double> log_gates;  // 3 x 1, or 3 x 4 by channel
  std::vector<double> write = {1, 1, 1};
  bool l2norm = false;
  double initial = 0.0;
  Matrix<double> queries = matrix(q_rows);
};

// Outputs of the three tokens, 3 x 4, in the form asked for.
Matrix<double> outputs(const Worked& worked, bool chunkwise) {
  Matrix<double> q = worked.queries;
  Matrix<double> k = matrix(k_rows);
  const Matrix<double> v = matrix(v_rows);
  std::vector<RecurrentToken<double>> tokens;
  for (int64_t t = 0; t < 3; ++t) {
    if (worked.l2norm) {
      l2_normalise(&q(t, 0), 4);
      l2_normalise(&k(t, 0), 4);
    }
    q.row(t) *= 0.5;
    tokens.push_back({&k(t, 0), &v(t, 0), &worked.log_gates(t, 0), worked.log_gates.cols() > 1,
                      worked.write[static_cast<size_t>(t)]});
  }
  Matrix<double> state(4, 4);
  state.fill(worked.initial);
  if (chunkwise) return Chunk<double>(worked.kind, q, tokens, state).run();
  Matrix<double> o(3, 4);
  for (int64_t t = 0; t < 3; ++t) {
    update_state<double>(worked.kind, tokens[static_cast<size_t>(t)], state);
    read_state<double>(&q(t, 0), state, &o(t, 0));
  }
  return o;
}

void expect_output(const Worked& worked, int64_t token, const std::vector<double>& expected) {
  for (const bool chunkwise : {false, true}) {
    const Matrix<double> o = outputs(worked, chunkwise);
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(o(token - 1, i), expected[static_cast<size_t>(i)], unit)
          << "token " << token << ", channel " << i << (chunkwise ? ", chunkwise" : "");
    }
  }
}

TEST(worked_vectors, gated_delta_without_l2norm) {
  const Worked worked = {
      Recurrence::gated_delta, matrix({{-.1}, {-.2}, {-.05}}), {.8, .6, .9}, false, 0.5};
  expect_output(worked, 1, {.226209, .226209, .226209, .226209});
  expect_output(worked, 2, {.208578, .454198, .699817, .945436});
  expect_output(worked, 3, {-.143436, -.023741, -.804047, -.157507});
}

TEST(worked_vectors, gated_linear) {
  const Worked worked = {
      Recurrence::gated_linear,
      matrix({{-.1, -.2, -.3, -.4}, {-.05, -.1, -.15, -.2}, {-.5, -.4, -.3, -.2}})};
  expect_output(worked, 3, {.211448, .504645, -.202158, .982041});
}

TEST(worked_vectors, retention) {
  const std::vector<std::vector<double>> expected = {{.460938, .605469, -.25, 1.316406},
                                                     {.480469, .615234, -.25, 1.345703}};
  for (const int64_t head : {0, 1}) {
    const double gate = retention_log_gate(head);
    expect_output({Recurrence::retention, matrix({{gate}, {gate}, {gate}})}, 3,
                  expected[static_cast<size_t>(head)]);
  }
}

TEST(worked_vectors, gated_delta_read_by_a_copy) {
  Worked worked = {Recurrence::gated_delta, matrix({{-.1}, {-.2}, {-.05}}), {.8, .6, .9}, true};
  worked.queries = matrix({{.25, -1, 0, 1}, {1, .5, .5, -1}, {-.5, 0, 2, .25}});
  expect_output(worked, 1, {.142134, .284268, .426401, .568535});
  expect_output(worked, 3, {.885185, -.003214, -.006962, .584766});
}

TEST(worked_vectors, softmax_full_and_windowed) {
  const Matrix<double> q = matrix(q_rows);
  const Matrix<double> k = matrix(k_rows);
  const Matrix<double> v = matrix(v_rows);
  Row row;
  row.entry = 2;
  row.position = 2;
  const auto expect = [&](std::optional<int64_t> window, const std::vector<double>& expected) {
    Matrix<double> o(1, 4);
    attend(&q(2, 0), k.data(), v.data(), 4, 4, visible_keys<configured_fault>(row, window, 3),
           o.data());
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(o(0, i), expected[static_cast<size_t>(i)], unit);
    }
  };
  expect(std::nullopt, {1.939348, 1.060652, 1.036126, 3.060652});
  expect(2, {2.294215, .705785, .294215, 2.705785});
}

}  // namespace
}  // namespace orthros
