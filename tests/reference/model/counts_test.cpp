// The simulator's closed forms against the multiply-adds that the reference makes.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "sim/counts.hpp"
#include "tests/reference/model/counted_forward.hpp"
#include "tests/support/property.hpp"

namespace orthros {
namespace {

// Calls over 1 to 14 tokens in pieces, each with outputs of its own. Two streams over softmax
// layers may also ask for positions that passed long ago.
void counted_equal_closed_form(const Subject&) {
  const RandomModel drawn = draw_model(architecture_names());
  const int64_t edge = edge_of(drawn.spec);
  const auto tokens = draw_tokens(drawn.spec, draw_length(edge, 1, 14));
  const auto length = static_cast<int64_t>(tokens.size());
  const auto pieces = draw_pieces(edge, length);
  const std::string name = architecture_of(drawn.spec);
  const bool past_allowed = name == "orthros" || name == "orthros-noso";
  std::vector<std::vector<int64_t>> outputs;
  int64_t prefix = 0;
  for (const int64_t piece : pieces) {
    outputs.push_back(draw_outputs(past_allowed ? 1 : prefix + 1, prefix + piece));
    prefix += piece;
  }
  const auto form = *rc::gen::element(RecurrentForm::recurrent, RecurrentForm::chunkwise);
  const int64_t chunk = draw_length(4, 1, 9);
  const auto counted = counted_calls(drawn, tokens, pieces, outputs, form, chunk);
  const CountModel model = count_model(drawn.spec);
  prefix = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const int128 closed = forward_macs(model, prefix, pieces[i], outputs[i], form, chunk);
    RC_ASSERT(static_cast<int64_t>(closed) == counted[i]);
    prefix += pieces[i];
  }
}

TEST(property, counted_multiply_adds_equal_the_simulators_closed_form) {
  const Property property = {"counts", counted_equal_closed_form, Scalars::double_only};
  constexpr int cases = 500;
  const Verdict verdict = try_property(property, double_subject(), cases, true);
  EXPECT_TRUE(verdict.holds) << verdict.message;
}

// Each architecture by name, prefill and a decode step, so that none is left to chance.
TEST(counts, every_architecture_in_both_forms) {
  for (const std::string& name : architecture_names()) {
    const auto one = [](const std::string& architecture) {
      const RandomModel drawn = draw_model({architecture});
      const auto tokens = draw_tokens(drawn.spec, 9);
      for (const RecurrentForm form : {RecurrentForm::recurrent, RecurrentForm::chunkwise}) {
        const auto counted = counted_calls(drawn, tokens, {8, 1}, {{8}, {9}}, form, 4);
        const CountModel model = count_model(drawn.spec);
        RC_ASSERT(static_cast<int64_t>(prefill_macs(model, 8, form, 4)) == counted[0]);
        if (form == RecurrentForm::chunkwise) continue;  // decode is token by token
        RC_ASSERT(static_cast<int64_t>(decode_macs(model, 8, 2)) == counted[1]);
      }
    };
    rc::detail::TestParams params = rc::detail::configuration().testParams;
    params.maxSuccess = 20;
    const auto result =
        rc::detail::checkTestable([&] { one(name); }, rc::detail::TestMetadata{name, name}, params);
    EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << name;
  }
}

// Window 2 over 5 tokens in a single call: 9 visible pairs, not 15.
TEST(case_02, the_window_applies_in_a_single_chunk_prefill_too) {
  RandomModel model;
  SoftmaxAttention mixer;
  mixer.query_heads = 3;
  mixer.kv_heads = 1;
  mixer.head_width = 4;
  model.spec.vocab = 5;
  model.spec.hidden = 2;
  model.spec.layers = {Layer{mixer, SwiGlu{2}}};
  const auto count = [&](const ModelSpec& spec) {
    return counted_calls({spec, 1}, {0, 1, 2, 3, 4}, {5}, {{5}}, RecurrentForm::recurrent, 1)[0];
  };
  // QK and PV: 2 Hq d multiply-adds a pair.
  const int64_t pair = 2 * mixer.query_width();
  EXPECT_EQ(count(transformer(model.spec)) - count(swa(model.spec, 2)), (15 - 9) * pair);
}

}  // namespace
}  // namespace orthros
