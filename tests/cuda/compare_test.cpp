// Tests of the comparison: counts, and the name of the first element that differs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cuda/check/compare.hpp"
#include "cuda/check/findings.hpp"
#include "cuda/check/report.hpp"

namespace orthros::cuda {
namespace {

constexpr HeadShape shape{2, 4};  // 2 KV heads of 4
constexpr int64_t tokens = 3;
constexpr int64_t layers = 2;
constexpr int64_t vocab = 5;

// Two sequences of three tokens that predict at 1 and 3.
RunRecord sample() {
  RunRecord run(2);
  for (SequenceRecord& sequence : run) {
    sequence.positions = {1, 3};
    sequence.logits.assign(2, std::vector<float>{0.f, 4.f, 2.f, 4.f, 1.f});
    sequence.predicted = {1, 1};
    sequence.keys.assign(layers, std::vector<bf16_bits>(tokens * 8, 0x3f80));
    sequence.values = sequence.keys;
  }
  return run;
}
constexpr int64_t cache_entries = 2 * layers * 2 * tokens * 8;
constexpr int64_t logits = 2 * 2 * vocab;

TEST(compare_runs, equal_runs_are_counted_whole) {
  const Tally tally = compare_runs(sample(), sample(), shape);
  EXPECT_EQ(tally.compared, cache_entries + logits);
  EXPECT_EQ(tally.equal, tally.compared);
  EXPECT_FALSE(tally.first);
}

TEST(compare_runs, the_first_cache_entry_is_named_by_layer_sequence_position_and_head) {
  RunRecord actual = sample();
  actual[1].values[1][2 * 8 + 1 * 4 + 3] = 0x4000;  // position 3, head 1, channel 3
  actual[1].logits[0][2] = 7.f;
  const Tally tally = compare_runs(sample(), actual, shape);
  EXPECT_EQ(tally.compared - tally.equal, 2);
  ASSERT_TRUE(tally.first);
  EXPECT_EQ(text_of(*tally.first),
            "values of layer 1, base stream, sequence 1, position 3, head 1, channel 3: expected "
            "0x3f80 (1), got 0x4000 (2)");
}

TEST(compare_runs, an_earlier_layer_comes_first_whatever_the_sequence) {
  RunRecord actual = sample();
  actual[0].keys[1][0] = 0;
  actual[1].values[0][0] = 0;
  const Tally tally = compare_runs(sample(), actual, shape);
  ASSERT_TRUE(tally.first);
  EXPECT_EQ(tally.first->layer, 0);
  EXPECT_EQ(tally.first->sequence, 1);
  EXPECT_EQ(tally.first->part, Part::values);
}

TEST(compare_runs, a_logit_is_named_by_position_and_id) {
  RunRecord actual = sample();
  actual[0].logits[1][4] = 1.5f;
  const Tally tally = compare_runs(sample(), actual, shape, 6);
  ASSERT_TRUE(tally.first);
  EXPECT_EQ(text_of(*tally.first),
            "logits, output stream, sequence 6, position 3, id 4: expected 0x3f800000 (1), got "
            "0x3fc00000 (1.5)");
}

TEST(compare_runs, zeros_of_unlike_sign_differ_and_equal_nan_does_not) {
  RunRecord expected = sample();
  RunRecord actual = sample();
  actual[0].logits[0][0] = -0.f;
  expected[0].logits[0][1] = actual[0].logits[0][1] = std::nanf("");
  EXPECT_EQ(
      compare_runs(expected, actual, shape).compared - compare_runs(expected, actual, shape).equal,
      1);
  EXPECT_FALSE(count_finite(actual, shape).holds());
}

TEST(compare_runs, positions_of_both_in_any_order_are_compared) {
  RunRecord actual = sample();
  actual[0].positions = {3, 3, 2};
  actual[0].logits.assign(3, actual[0].logits[0]);
  const Tally tally = compare_runs(sample(), actual, shape);
  EXPECT_EQ(tally.compared, cache_entries + 2 * vocab + 2 * vocab);  // twice 3, never 2
  EXPECT_TRUE(tally.holds());
}

TEST(compare_runs, a_shorter_cache_differs) {
  RunRecord actual = sample();
  actual[0].keys[0].resize(8);
  const Tally tally = compare_runs(sample(), actual, shape);
  EXPECT_EQ(tally.compared - tally.equal, 1);
  ASSERT_TRUE(tally.first);
  EXPECT_EQ(text_of(*tally.first), "length, sequence 0, cache of layer 0: expected 3, got 1");
}

TEST(count_finite, names_what_is_no_number) {
  RunRecord run = sample();
  run[1].keys[0][8] = 0x7fff;
  const Tally tally = count_finite(run, shape);
  EXPECT_EQ(tally.compared, cache_entries + logits);
  EXPECT_EQ(tally.compared - tally.equal, 1);
  ASSERT_TRUE(tally.first);
  EXPECT_EQ(tally.first->sequence, 1);
  EXPECT_EQ(tally.first->position, 2);
  EXPECT_EQ(tally.first->head, 0);
}

TEST(compare_predicted, the_lowest_id_wins_among_equals) {
  RunRecord run = sample();
  EXPECT_TRUE(compare_predicted(run).holds());
  run[0].predicted[1] = 3;  // an equal logit, but not the lowest id
  const Tally tally = compare_predicted(run);
  EXPECT_EQ(tally.compared, 4);
  EXPECT_EQ(tally.equal, 3);
  ASSERT_TRUE(tally.first);
  EXPECT_EQ(text_of(*tally.first),
            "predicted id, output stream, sequence 0, position 3: expected 1, got 3");
}

TEST(compare_weights, names_tensor_and_element) {
  const std::vector<bf16_bits> expected(10, 0x3f80);
  std::vector<bf16_bits> actual = expected;
  EXPECT_EQ(compare_weights("norm", expected, actual).equal, 10);
  actual[7] = 0;
  const Tally tally = compare_weights("norm", expected, actual);
  EXPECT_EQ(tally.equal, 9);
  ASSERT_TRUE(tally.first);
  EXPECT_EQ(text_of(*tally.first), "weights, norm, element 7: expected 0x3f80 (1), got 0x0000 (0)");
}

TEST(findings, a_difference_fails_the_check_and_is_in_its_json) {
  Findings findings;
  findings.begin_case("case-1", "a model");
  findings.add("promise", compare_runs(sample(), sample(), shape));
  EXPECT_TRUE(passed(findings));
  RunRecord actual = sample();
  actual[0].keys[1][8 + 4] = 0;
  findings.add("promise", compare_runs(sample(), actual, shape));
  EXPECT_FALSE(passed(findings));
  const auto json = check_json({}, findings);
  EXPECT_EQ(json["failed"], 1);
  EXPECT_EQ(json["compared"].get<int64_t>() - json["equal"].get<int64_t>(), 1);
  const auto& first = json["first_difference"];
  EXPECT_EQ(first["case"], "case-1");
  EXPECT_EQ(first["layer"], 1);
  EXPECT_EQ(first["stream"], "base");
  EXPECT_EQ(first["position"], 2);
  EXPECT_EQ(first["head"], 1);
  EXPECT_EQ(json["promises"][0]["name"], "promise");
}

TEST(findings, nothing_compared_is_no_success) {
  EXPECT_FALSE(passed(Findings()));
}

}  // namespace
}  // namespace orthros::cuda
