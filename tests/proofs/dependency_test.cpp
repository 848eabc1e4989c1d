// What every cache entry and logit depends on: the reference's execution against the oracle that
// is extracted from the proofs. The sets must be equal, not merely contained.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "reference/spec/architecture.hpp"
#include "tests/proofs/oracle_process.hpp"
#include "tests/proofs/traced_forward.hpp"

namespace orthros {
namespace {

OracleProcess& oracle() {
  static OracleProcess process;
  return process;
}

// The oracle gives a state after every token, the reference holds it at the ends of chunks: keep
// from the oracle's answer what the reference can say.
std::vector<std::string> oracle_lines(const TraceCase& shape) {
  std::vector<int64_t> ends;
  for (const int64_t size : shape.chunks) ends.push_back((ends.empty() ? 0 : ends.back()) + size);
  std::vector<std::string> kept;
  for (const std::string& line : oracle().ask(oracle_request(shape))) {
    int layer = 0;
    long position = 0;
    const bool state = std::sscanf(line.c_str(), "state %d %ld", &layer, &position) == 2 ||
                       std::sscanf(line.c_str(), "conv %d %ld", &layer, &position) == 2;
    if (state && std::find(ends.begin(), ends.end(), position) == ends.end()) continue;
    kept.push_back(line);
  }
  return kept;
}

std::vector<std::string> sorted(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}

// The smallest Transformer that has every part: the answer does not depend on widths.
ModelSpec tiny_transformer(int64_t layers) {
  ModelSpec spec;
  spec.name = "traced";
  spec.vocab = 2;
  spec.hidden = 2;
  SoftmaxAttention attention;
  attention.query_heads = 2;
  attention.kv_heads = 1;
  attention.head_width = 2;
  attention.qk_norm = true;
  attention.rope = Rope{};
  attention.rope->width = 2;
  spec.layers.assign(static_cast<size_t>(layers), Layer{attention, SwiGlu{2}});
  return spec;
}

ModelSpec make_spec(const std::string& architecture, int64_t layers, int64_t window) {
  ArchitectureRequest request;
  request.name = architecture;
  request.window = window;
  request.linear.key_heads = 1;
  request.linear.conv_width = 3;
  return to_architecture(tiny_transformer(layers), request);
}

// Shapes and schedules: one-shot, chunked and decode by single tokens; windows near the length.
TraceCase draw_case(const std::string& architecture, int64_t most_layers) {
  TraceCase shape;
  const auto layers = *rc::gen::inRange<int64_t>(1, most_layers + 1);
  const auto window = *rc::gen::inRange<int64_t>(1, 6);
  shape.spec = make_spec(architecture, layers, window);
  const auto tokens = *rc::gen::inRange<int64_t>(1, 14);
  for (int64_t left = tokens; left > 0; left -= shape.chunks.back()) {
    const auto size =
        *rc::gen::weightedOneOf<int64_t>({{1, rc::gen::just<int64_t>(1)},
                                          {1, rc::gen::just(left)},
                                          {2, rc::gen::inRange<int64_t>(1, left + 1)}});
    shape.chunks.push_back(size);
  }
  shape.outputs =
      *rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(1, tokens + 1));
  return shape;
}

void expect_equal_sets(const TraceCase& shape) {
  const auto expected = sorted(oracle_lines(shape));
  const auto traced = sorted(traced_lines(shape));
  if (expected == traced) return;
  for (size_t i = 0; i < std::max(expected.size(), traced.size()); ++i) {
    const std::string want = i < expected.size() ? expected[i] : "nothing";
    const std::string got = i < traced.size() ? traced[i] : "nothing";
    if (want != got) {
      RC_FAIL(fmt::format("{}: oracle says '{}', the reference did '{}'", oracle_request(shape),
                          want, got));
    }
  }
}

#define ORTHROS_SETS_EQUAL(test_name, architecture, layers) \
  RC_GTEST_PROP(Dependencies, test_name, ()) {              \
    expect_equal_sets(draw_case(architecture, layers));     \
  }
ORTHROS_SETS_EQUAL(of_orthros_equal_the_oracle, "orthros", 4)
ORTHROS_SETS_EQUAL(of_swa_equal_the_oracle, "swa", 4)
ORTHROS_SETS_EQUAL(of_the_transformer_equal_the_oracle, "transformer", 3)
ORTHROS_SETS_EQUAL(of_orthros_h_equal_the_oracle, "orthros-h", 5)
ORTHROS_SETS_EQUAL(of_the_linear_hybrid_equal_the_oracle, "linear-hybrid", 5)

// One case in which each fault shows: 3 layers, window 2, an output in the middle and at the end.
TraceCase telling_case() {
  return {make_spec("orthros", 3, 2), {4, 1, 3}, {3, 5, 8}};
}

void expect_caught(Fault fault) {
  const TraceCase shape = telling_case();
  EXPECT_EQ(sorted(traced_lines(shape, Fault::none)), sorted(oracle_lines(shape)));
  EXPECT_NE(sorted(traced_lines(shape, fault)), sorted(oracle_lines(shape)));
}

TEST(DependencyFaults, a_window_off_by_one_changes_the_sets) {
  expect_caught(Fault::window_off_by_one);
}
TEST(DependencyFaults, a_copy_that_writes_the_cache_changes_the_sets) {
  expect_caught(Fault::copy_writes_cache);
}
TEST(DependencyFaults, an_index_used_as_a_position_changes_the_sets) {
  expect_caught(Fault::index_as_position);
}
TEST(DependencyFaults, an_output_stream_that_reads_the_window_changes_the_sets) {
  expect_caught(Fault::output_reads_window);
}

}  // namespace
}  // namespace orthros
