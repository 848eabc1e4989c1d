// Where one architecture must come out as another.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "tests/support/patched_weights.hpp"
#include "tests/support/property.hpp"
#include "tests/support/random_model.hpp"
#include "tests/support/runs.hpp"

namespace orthros {
namespace {

constexpr int64_t longest = 14;

void set_window(ModelSpec& spec, std::optional<int64_t> window) {
  for (Layer& layer : spec.layers) {
    if (auto* softmax = std::get_if<SoftmaxAttention>(&layer.mixer)) softmax->window = window;
  }
}

// Runs the tokens through both models and says whether memory and logits have the same bits.
bool same_results(const AnyModel& one, const AnyModel& other, const std::vector<int64_t>& tokens,
                  const std::vector<int64_t>& outputs) {
  const auto cache = one.new_cache();
  const auto other_cache = other.new_cache();
  const Matrix<double> logits = run(one, *cache, tokens, outputs);
  return same_bits(run(other, *other_cache, tokens, outputs), logits) &&
         same_bits(cache->memory(), other_cache->memory());
}

ORTHROS_PROPERTY(a_window_of_at_least_t_makes_the_base_full_causal_attention, every) {
  RandomModel drawn = draw_model({"orthros", "orthros-noso", "swa", "orthros-h"});
  const auto tokens = draw_tokens(drawn.spec, draw_length(edge_of(drawn.spec), 1, longest));
  const auto length = static_cast<int64_t>(tokens.size());
  const auto outputs = draw_outputs(1, length);
  set_window(drawn.spec, length + draw_length(2, 0, 3));
  const auto windowed = subject.load(drawn.spec, drawn.weights());
  set_window(drawn.spec, std::nullopt);
  const auto full = subject.load(drawn.spec, drawn.weights());
  RC_ASSERT(same_results(*windowed, *full, tokens, outputs));
}

ORTHROS_PROPERTY(a_window_of_at_least_t_and_identity_scale_offset_make_both_streams_the_transformer,
                 every) {
  RandomModel drawn = draw_model({"orthros"});
  const auto tokens = draw_tokens(drawn.spec, draw_length(edge_of(drawn.spec), 1, longest));
  const auto length = static_cast<int64_t>(tokens.size());
  const auto outputs = draw_outputs(1, length);
  set_window(drawn.spec, length + draw_length(2, 0, 3));
  const RandomWeights weights = drawn.weights();
  const auto dual = subject.load(drawn.spec, identity_scale_offset(weights));
  const auto single = subject.load(transformer(drawn.spec), weights);
  Observed in_dual;
  Observed in_single;
  const auto dual_cache = dual->new_cache();
  const auto single_cache = single->new_cache();
  const Matrix<double> expected = run(*single, *single_cache, tokens, outputs, in_single.options());
  RC_ASSERT(same_bits(run(*dual, *dual_cache, tokens, outputs, in_dual.options()), expected));
  RC_ASSERT(same_bits(dual_cache->memory(), single_cache->memory()));
  for (int64_t i = 0; i < static_cast<int64_t>(drawn.spec.layers.size()); ++i) {
    const Matrix<double>& rows = in_dual.at("residual", i);
    const Matrix<double>& base = in_single.at("residual", i);
    RC_ASSERT(same_bits(rows.topRows(length), base));
    RC_ASSERT(same_bits(rows.bottomRows(rows.rows() - length), rows_at(base, outputs)));
  }
}

ORTHROS_PROPERTY(a_window_of_one_makes_base_attention_the_tokens_own_value, every) {
  RandomModel drawn = draw_model({"orthros", "orthros-noso", "swa"});
  for (Layer& layer : drawn.spec.layers) std::get<SoftmaxAttention>(layer.mixer).gated = false;
  set_window(drawn.spec, 1);
  const auto& mixer = std::get<SoftmaxAttention>(drawn.spec.layers[0].mixer);
  const auto model = subject.load(drawn.spec, drawn.weights());
  const auto tokens = draw_tokens(drawn.spec, draw_length(4, 1, longest));
  const auto length = static_cast<int64_t>(tokens.size());
  Observed observed;
  const auto cache = model->new_cache();
  run(*model, *cache, tokens, draw_outputs(1, length), observed.options());
  const Memory memory = cache->memory();
  const int64_t group = mixer.query_heads / mixer.kv_heads;
  for (size_t i = 0; i < memory.size(); ++i) {
    const Matrix<double>& o = observed.at("attention", static_cast<int64_t>(i));
    for (int64_t h = 0; h < mixer.query_heads; ++h) {
      const Matrix<double> head = o.block(0, h * mixer.head_width, length, mixer.head_width);
      const Matrix<double> value =
          memory[i].values.block(0, h / group * mixer.head_width, length, mixer.head_width);
      RC_ASSERT(same_bits(head, value));
    }
  }
}

ORTHROS_PROPERTY(identity_scale_offset_equals_none_in_caches_and_logits, every) {
  RandomModel drawn = draw_model({"orthros", "orthros-h"});
  const RandomWeights weights = drawn.weights();
  const auto tokens = draw_tokens(drawn.spec, draw_length(edge_of(drawn.spec), 1, longest));
  const auto outputs = draw_outputs(1, static_cast<int64_t>(tokens.size()));
  const auto identity = subject.load(drawn.spec, identity_scale_offset(weights));
  for (Layer& layer : drawn.spec.layers) {
    if (auto* softmax = std::get_if<SoftmaxAttention>(&layer.mixer)) {
      softmax->scale_offset = ScaleOffset::none;
    }
  }
  RC_ASSERT(same_results(*identity, *subject.load(drawn.spec, weights), tokens, outputs));
}

// Bits, though a tolerance would do: every product is over the same numbers in the same order.
ORTHROS_PROPERTY(grouped_query_attention_equals_multi_head_with_repeated_kv_heads, every) {
  const RandomModel drawn = draw_model(own_kv_softmax());
  const RandomWeights weights = drawn.weights();
  ModelSpec repeated = drawn.spec;
  for (Layer& layer : repeated.layers) {
    auto& softmax = std::get<SoftmaxAttention>(layer.mixer);
    softmax.kv_heads = softmax.query_heads;
  }
  const auto grouped = subject.load(drawn.spec, weights);
  const auto multi_head = subject.load(repeated, repeated_kv_heads(weights, drawn.spec));
  const auto tokens = draw_tokens(drawn.spec, draw_length(edge_of(drawn.spec), 1, longest));
  const auto outputs = draw_outputs(1, static_cast<int64_t>(tokens.size()));
  const auto grouped_cache = grouped->new_cache();
  const auto cache = multi_head->new_cache();
  RC_ASSERT(same_bits(run(*multi_head, *cache, tokens, outputs),
                      run(*grouped, *grouped_cache, tokens, outputs)));
}

// Only differences of positions enter a score. In floats an angle p theta <= p (theta_0 = 1) is
// rounded by at most p eps / 2 with p <= 64 + 14 < 2^7, and cosine and sine of it by eps more, so a
// rotation is off by under 2^8 eps and a score |q| |k| / sqrt d by 2^9 eps times itself. Head
// widths are at most 6 and q, k are of order 1 each (normed rows through N / sqrt(fan-in) weights,
// scale 1 + 0.3 N: at most 6 deviations of each), so a score is below 2^8 and off by under
// 2^17 eps = 1.5e-11, which is the relative error of a softmax weight. A layer passes a relative
// error on multiplied by at most the ratio of its rows' largest to smallest norm, for which we
// allow 2^4 in each of 4 layers: 2^16 x 1.5e-11 = 1e-6.
ORTHROS_PROPERTY(shifting_every_position_preserves_logits, double_only) {
  const RandomModel drawn = draw_model(architecture_names());
  const auto model = subject.load(drawn.spec, drawn.weights());
  const auto tokens = draw_tokens(drawn.spec, draw_length(edge_of(drawn.spec), 1, longest));
  const auto outputs = positions(1, static_cast<int64_t>(tokens.size()));
  const auto plain = model->new_cache();
  const auto shifted = model->new_cache();
  shifted->shift_positions(*rc::gen::inRange<int64_t>(1, 65).as("shift"));
  const Matrix<double> expected = run(*model, *plain, tokens, outputs);
  RC_ASSERT(relative_error(run(*model, *shifted, tokens, outputs), expected) < 1e-6);
}

ORTHROS_PROPERTY(zero_linear_layers_reduce_orthros_h_to_orthros, every) {
  const RandomModel drawn = draw_model({"orthros"});
  const auto& mixer = std::get<SoftmaxAttention>(drawn.spec.layers[0].mixer);
  // Orthros by itself, and among linear layers that add nothing: zero W_o and zero down projection.
  ModelSpec hybrid = drawn.spec;
  const LinearMixer linear =
      linear_mixer(Recurrence::gated_delta, mixer, drawn.spec.hidden, LinearSizes{});
  const int64_t at = *rc::gen::inRange<int64_t>(0, static_cast<int64_t>(hybrid.layers.size()) + 1)
                          .as("linear layer at");
  hybrid.layers.insert(hybrid.layers.begin() + at, Layer{linear, drawn.spec.layers[0].ffn});
  RC_ASSERT(architecture_of(hybrid) == "orthros-h");
  ModelSpec without = hybrid;
  without.layers.erase(without.layers.begin() + at);
  RC_ASSERT(phase_aware(without, *mixer.window, mixer.scale_offset).layers == drawn.spec.layers);

  const RandomWeights weights = drawn.weights();
  const std::string zero_layer = layer_prefix(at);
  // Layer i of Orthros is layer i or i + 1 of the hybrid.
  const PatchedWeights renamed(
      weights, [](std::string_view name) { return name.starts_with("model.layers."); },
      [&](const TensorInfo& tensor, int64_t first, std::span<double> out) {
        TensorInfo original = tensor;
        for (auto i = static_cast<int64_t>(hybrid.layers.size()) - 1; i > at; --i) {
          if (tensor.name.starts_with(layer_prefix(i))) {
            original.name = layer_prefix(i - 1) + tensor.name.substr(layer_prefix(i).size());
          }
        }
        weights.read(original, first, out);
      });
  const PatchedWeights silent = zeroed(renamed, [&](std::string_view name) {
    return name == zero_layer + "linear_attn.out_proj.weight" ||
           name == zero_layer + "mlp.down_proj.weight";
  });
  const auto alone = subject.load(drawn.spec, weights);
  const auto among = subject.load(hybrid, silent);
  const auto tokens = draw_tokens(drawn.spec, draw_length(*mixer.window, 1, longest));
  const auto outputs = draw_outputs(1, static_cast<int64_t>(tokens.size()));
  const auto alone_cache = alone->new_cache();
  const auto among_cache = among->new_cache();
  RC_ASSERT(same_bits(run(*among, *among_cache, tokens, outputs),
                      run(*alone, *alone_cache, tokens, outputs)));
  Memory memory = among_cache->memory();
  memory.erase(memory.begin() + at);
  RC_ASSERT(same_bits(memory, alone_cache->memory()));
}

}  // namespace
}  // namespace orthros
