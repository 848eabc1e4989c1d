// How far a token reaches: never back, through windows l (w - 1) far, in the output stream always.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "tests/support/attention_by_hand.hpp"
#include "tests/support/property.hpp"
#include "tests/support/random_model.hpp"
#include "tests/support/runs.hpp"

namespace orthros {
namespace {

constexpr int64_t longest = 14;

ORTHROS_PROPERTY(tokens_after_t_change_nothing_at_or_before_t, every) {
  const RandomModel drawn = draw_model(architecture_names());
  const auto model = subject.load(drawn.spec, drawn.weights());
  const int64_t edge = edge_of(drawn.spec);
  const auto tokens = draw_tokens(drawn.spec, draw_length(edge, 1, longest));
  const auto length = static_cast<int64_t>(tokens.size());
  const int64_t t = draw_length(edge, 1, length);
  const auto changed = with_others(drawn.spec, tokens, t + 1, length);
  const auto one = model->new_cache();
  const auto other = model->new_cache();
  const auto outputs = draw_outputs(1, t);
  RC_ASSERT(same_bits(run(*model, *one, tokens, outputs), run(*model, *other, changed, outputs)));
  const Memory memory = one->memory();
  const Memory after = other->memory();
  for (size_t i = 0; i < memory.size(); ++i) {
    if (memory[i].keys.rows() == 0) continue;
    RC_ASSERT(same_bits(memory[i].keys.topRows(t), after[i].keys.topRows(t)));
    RC_ASSERT(same_bits(memory[i].values.topRows(t), after[i].values.topRows(t)));
  }
}

// A windowed stack, and the base state of position t after l layers as a function of tokens.
struct Reach {
  std::unique_ptr<AnyModel> model;
  ModelSpec spec;
  int64_t layers;  // l
  int64_t t;
  int64_t first;  // t - l (w - 1)
  std::vector<int64_t> tokens;

  Matrix<double> base_state(const std::vector<int64_t>& of) const {
    Observed observed;
    const auto cache = model->new_cache();
    run(*model, *cache, of, {}, observed.options());
    return observed.at("residual", layers - 1).row(t - 1);
  }
};

// `before`: tokens at least before the first that matters.
Reach draw_reach(const Subject& subject, int64_t before) {
  RandomModel drawn = draw_model({"orthros", "orthros-noso", "swa"});
  // Wide enough that norms keep more of a row than its sign.
  drawn.spec.hidden = 8;
  Reach reach;
  reach.spec = drawn.spec;
  reach.model = subject.load(drawn.spec, drawn.weights());
  const int64_t w = edge_of(drawn.spec);
  reach.layers =
      *rc::gen::inRange<int64_t>(1, static_cast<int64_t>(drawn.spec.layers.size()) + 1).as("l");
  const int64_t span = reach.layers * (w - 1);
  reach.first = draw_length(w, before + 1, before + 6);
  reach.t = reach.first + span;
  reach.tokens = draw_tokens(drawn.spec, reach.t + draw_length(w, 0, 3));
  return reach;
}

ORTHROS_PROPERTY(base_state_after_l_layers_ignores_tokens_before_t_minus_l_windows, every) {
  const Reach reach = draw_reach(subject, 1);
  const auto changed = with_others(reach.spec, reach.tokens, 1, reach.first - 1);
  RC_ASSERT(same_bits(reach.base_state(changed), reach.base_state(reach.tokens)));
}

ORTHROS_PROPERTY(base_state_after_l_layers_does_change_with_the_token_at_t_minus_l_windows,
                 double_only) {
  const Reach reach = draw_reach(subject, 0);
  const auto changed = with_others(reach.spec, reach.tokens, reach.first, reach.first);
  RC_ASSERT(!same_bits(reach.base_state(changed), reach.base_state(reach.tokens)));
}

ORTHROS_PROPERTY(the_first_token_does_change_the_last_logits, double_only) {
  RandomModel drawn = draw_model(dual_softmax());
  drawn.spec.hidden = 8;
  const auto model = subject.load(drawn.spec, drawn.weights());
  const int64_t span = static_cast<int64_t>(drawn.spec.layers.size()) * (edge_of(drawn.spec) - 1);
  const auto tokens = draw_tokens(drawn.spec, span + draw_length(3, 2, 8));
  const auto changed = with_others(drawn.spec, tokens, 1, 1);
  const std::vector<int64_t> last = {static_cast<int64_t>(tokens.size())};
  const auto one = model->new_cache();
  const auto other = model->new_cache();
  RC_ASSERT(!same_bits(run(*model, *one, tokens, last), run(*model, *other, changed, last)));
}

// Eqs. 4 and 5, from the queries and keys that the model itself shows. A score is below 2^8 (see
// shifting positions) and summed over at most 6 channels, so both sides know it to 2^8 x 6 eps, a
// weight to the same relative error, and their quotient of sums over 14 keys to
// (2 x 2^8 x 6 + 14 x 4) eps < 1e-12 of the largest value.
ORTHROS_PROPERTY(attention_is_equations_4_and_5, double_only) {
  RandomModel drawn = draw_model(own_kv_softmax());
  for (Layer& layer : drawn.spec.layers) std::get<SoftmaxAttention>(layer.mixer).gated = false;
  const auto& mixer = std::get<SoftmaxAttention>(drawn.spec.layers[0].mixer);
  const auto model = subject.load(drawn.spec, drawn.weights());
  const auto tokens = draw_tokens(drawn.spec, draw_length(edge_of(drawn.spec), 1, longest));
  const auto length = static_cast<int64_t>(tokens.size());
  const int64_t before = draw_length(edge_of(drawn.spec), 0, length - 1);
  const auto outputs = draw_outputs(before + 1, length);
  const auto cache = model->new_cache();
  run(*model, *cache, {tokens.begin(), tokens.begin() + before}, {});
  Observed observed;
  run(*model, *cache, {tokens.begin() + before, tokens.end()}, outputs, observed.options());
  const Memory memory = cache->memory();
  const auto check = [&](int64_t layer, int64_t row, int64_t first, int64_t position) {
    const LayerMemory& kv = memory[static_cast<size_t>(layer)];
    const Matrix<double> expected =
        attention_by_hand(observed.at("q", layer).row(row), kv.keys, kv.values, mixer.query_heads,
                          mixer.kv_heads, first, position);
    const double error =
        (observed.at("attention", layer).row(row) - expected.row(0)).cwiseAbs().maxCoeff();
    RC_ASSERT(error <= 1e-12 * kv.values.cwiseAbs().maxCoeff());
  };
  const int64_t window = mixer.window.value_or(length);
  for (int64_t layer = 0; layer < static_cast<int64_t>(memory.size()); ++layer) {
    for (int64_t t = before + 1; t <= length; ++t) {
      check(layer, t - before - 1, std::max<int64_t>(1, t - window + 1), t);
    }
    if (drawn.spec.streams == Streams::single) continue;
    for (size_t i = 0; i < outputs.size(); ++i) {
      check(layer, length - before + static_cast<int64_t>(i), 1, outputs[i]);
    }
  }
}

}  // namespace
}  // namespace orthros
