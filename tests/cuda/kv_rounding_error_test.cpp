// What the check says of e4m3 caches, and the scales that it gives a case.
#include "cuda/check/kv_rounding_error.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cuda/check/report.hpp"
#include "reference/hopper/rounding.hpp"
#include "reference/spec/config.hpp"

namespace orthros::cuda {
namespace {

TEST(rounding_finding, is_the_largest_and_the_mean_difference_beside_the_logits_themselves) {
  const std::vector<double> kept = {1.0, -4.0, 0.5, 2.5};
  const std::vector<double> rounded = {1.5, -4.25, 0.5, 2.5};
  Findings findings;
  findings.begin_case("some-case", "");
  findings.add(rounding_of(rounded, kept));
  ASSERT_EQ(findings.roundings().size(), 1U);
  EXPECT_EQ(findings.failed(), 0) << "a statement, no limit";
  CheckSetting setting;
  setting.kv = "fp8";
  const auto json = check_json(setting, findings);
  EXPECT_EQ(json["kv"], "fp8");
  const auto& stated = json["fp8_against_bf16"].at(0);
  EXPECT_EQ(stated["case"], "some-case");
  EXPECT_EQ(stated["logits"], 4);
  EXPECT_EQ(stated["max"], 0.5);
  EXPECT_EQ(stated["mean"], 0.1875);
  EXPECT_EQ(stated["max_logit"], 4.0);
  EXPECT_EQ(stated["mean_logit"], 2.0);
}

// An infinity has the largest scale there is.
TEST(case_scales, hold_every_entry_and_differ_from_head_to_head) {
  ModelSpec spec = load_model_spec("qwen3-8b");
  spec.layers.resize(2);
  const auto& mixer = std::get<SoftmaxAttention>(spec.layers[0].mixer);
  const auto row = static_cast<size_t>(mixer.kv_width());
  const std::vector<uint16_t> entries(3 * row, hopper::round_bf16(-5.0f));
  RunRecord record(2);
  for (SequenceRecord& sequence : record) {
    sequence.keys.assign(2, entries);
    sequence.values.assign(2, entries);
  }
  record[1].keys[1][0] = hopper::round_bf16(std::numeric_limits<float>::infinity());
  const hopper::KvScales scales = case_scales(spec, record);
  for (int64_t layer = 0; layer < 2; ++layer) {
    for (const bool values : {false, true}) {
      for (int64_t head = 0; head < mixer.kv_heads; ++head) {
        EXPECT_GE(std::ldexp(448.0, scales.exponent(layer, values, head)), 10.0);
        const int64_t next = (head + 1) % mixer.kv_heads;
        if (layer == 1 && !values && (head == 0 || next == 0)) continue;
        // Eight heads in turns of three: the last and the first may be alike.
        if (next == 0) continue;
        EXPECT_NE(scales.exponent(layer, values, head), scales.exponent(layer, values, next));
      }
    }
  }
  EXPECT_EQ(scales.exponent(1, false, 0), 7);
}

}  // namespace
}  // namespace orthros::cuda
