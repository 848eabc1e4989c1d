// The recurrent and the chunkwise form of the linear mixers, in models and head by head.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "reference/model/chunkwise.hpp"
#include "reference/weights/counter_random.hpp"
#include "tests/support/property.hpp"
#include "tests/support/random_model.hpp"
#include "tests/support/runs.hpp"

namespace orthros {
namespace {

// Both forms are the same expression in exact arithmetic. Each number is a sum of at most 24
// tokens' terms, each through dot products over at most 6 channels and, in the delta rule, a
// triangular solve of contractions (|k| = 1, 0 < beta < 1, decay <= 1, so no intermediate exceeds
// 24 times the inputs): relative error under 24 x 24 x 6 eps / 2 = 4e-13 of the largest term. A
// layer passes it on multiplied by at most 2^4 (as in shifting positions), 4 layers: 3e-8.
ORTHROS_PROPERTY(chunkwise_equals_recurrent_for_any_chunk_size_and_chunking, double_only) {
  const RandomModel drawn = draw_model(recurrent_architectures());
  const auto model = subject.load(drawn.spec, drawn.weights());
  ForwardOptions<double> chunkwise;
  chunkwise.form = RecurrentForm::chunkwise;
  chunkwise.chunk = *rc::gen::inRange<int64_t>(1, 10).as("chunk size");
  const auto tokens = draw_tokens(drawn.spec, draw_length(chunkwise.chunk, 1, 24));
  const auto length = static_cast<int64_t>(tokens.size());
  const auto outputs = draw_outputs(1, length);
  const auto one = model->new_cache();
  const auto other = model->new_cache();
  const Matrix<double> expected = run(*model, *one, tokens, outputs);
  const Matrix<double> logits = run_in_pieces(
      *model, *other, tokens, draw_pieces(chunkwise.chunk, length), outputs, chunkwise);
  constexpr double tolerance = 3e-8;
  RC_ASSERT(relative_error(logits, expected) < tolerance);
  const Memory recurrent = one->memory();
  const Memory chunked = other->memory();
  for (size_t i = 0; i < recurrent.size(); ++i) {
    RC_ASSERT(relative_error(chunked[i].state, recurrent[i].state) < tolerance);
    RC_ASSERT(relative_error(chunked[i].conv_inputs, recurrent[i].conv_inputs) < tolerance);
  }
}

// One head's random tokens, normalised as layers hand them over.
struct Head {
  Recurrence kind;
  Matrix<double> q, k, v, log_gates;
  std::vector<double> write;
  Matrix<double> state;

  std::vector<RecurrentToken<double>> tokens() const {
    std::vector<RecurrentToken<double>> all;
    for (int64_t t = 0; t < q.rows(); ++t) {
      all.push_back({&k(t, 0), &v(t, 0), &log_gates(t, 0), log_gates.cols() > 1,
                     write[static_cast<size_t>(t)]});
    }
    return all;
  }
};

Head draw_head() {
  Head head;
  head.kind =
      *rc::gen::element(Recurrence::retention, Recurrence::gated_linear, Recurrence::gated_delta);
  const int64_t keys = draw_length(4, 1, 8);
  const int64_t values = draw_length(4, 1, 8);
  const int64_t length = draw_length(8, 1, 24);
  const CounterRandom random(draw_seed(), "head");
  uint64_t next = 0;
  const auto fill = [&](Matrix<double>& m, int64_t rows, int64_t cols) {
    m.resize(rows, cols);
    for (double& x : m.reshaped()) x = random.normal(next++);
  };
  fill(head.q, length, keys);
  fill(head.k, length, keys);
  fill(head.v, length, values);
  fill(head.log_gates, length, head.kind == Recurrence::gated_linear ? keys : 1);
  fill(head.state, keys, values);
  head.log_gates = -head.log_gates.cwiseAbs() / 4.0;
  for (int64_t t = 0; t < length; ++t) {
    if (head.kind == Recurrence::gated_delta) l2_normalise(&head.k(t, 0), keys);
    head.write.push_back(1.0 / (1.0 + std::exp(random.normal(next++))));
  }
  return head;
}

TEST(recurrence, a_chunk_of_any_size_equals_its_tokens_one_by_one) {
  const Property property = {
      "chunk",
      [](const Subject&) {
        const Head head = draw_head();
        const auto tokens = head.tokens();
        const auto length = static_cast<int64_t>(tokens.size());
        Matrix<double> state = head.state;
        Matrix<double> expected(length, head.v.cols());
        for (int64_t t = 0; t < length; ++t) {
          update_state<double>(head.kind, tokens[static_cast<size_t>(t)], state);
          read_state<double>(&head.q(t, 0), state, &expected(t, 0));
        }
        Matrix<double> chunked_state = head.state;
        Matrix<double> o(length, head.v.cols());
        for (int64_t at = 0; at < length;) {
          const int64_t size = draw_length(8, 1, length - at);
          const auto part =
              std::span(tokens).subspan(static_cast<size_t>(at), static_cast<size_t>(size));
          const Matrix<double> q = head.q.middleRows(at, size);
          o.middleRows(at, size) = Chunk<double>(head.kind, q, part, chunked_state).run();
          at += size;
        }
        // As above: 24 tokens, 24 terms, dots of 8: 24 x 24 x 8 eps / 2 < 1e-12 of the largest.
        RC_ASSERT(relative_error(o, expected) < 1e-12);
        RC_ASSERT(relative_error(chunked_state, state) < 1e-12);
      },
      Scalars::double_only};
  const Verdict verdict = try_property(property, double_subject(), 200, true);
  EXPECT_TRUE(verdict.holds) << verdict.message;
}

TEST(recurrence, zero_write_gate_with_unit_decay_is_a_no_op) {
  const Property property = {"no-op",
                             [](const Subject&) {
                               Head head = draw_head();
                               head.kind = Recurrence::gated_delta;
                               head.log_gates.setZero(head.q.rows(), 1);
                               std::fill(head.write.begin(), head.write.end(), 0.0);
                               const auto tokens = head.tokens();
                               Matrix<double> state = head.state;
                               for (const auto& token : tokens)
                                 update_state<double>(head.kind, token, state);
                               RC_ASSERT(state == head.state);
                               Chunk<double>(head.kind, head.q, tokens, state).run();
                               RC_ASSERT(state == head.state);
                             },
                             Scalars::double_only};
  const Verdict verdict = try_property(property, double_subject(), 100, true);
  EXPECT_TRUE(verdict.holds) << verdict.message;
}

}  // namespace
}  // namespace orthros
