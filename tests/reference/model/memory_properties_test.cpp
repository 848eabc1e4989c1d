// What the memory depends on: the base stream alone, never the output stream.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/support/patched_weights.hpp"
#include "tests/support/property.hpp"
#include "tests/support/random_model.hpp"
#include "tests/support/runs.hpp"

namespace orthros {
namespace {

constexpr int64_t longest = 14;

// Memory after the tokens, with logits asked at `outputs`.
Memory memory_of(const AnyModel& model, const std::vector<int64_t>& tokens,
                 const std::vector<int64_t>& outputs) {
  const auto cache = model.new_cache();
  run(model, *cache, tokens, outputs);
  return cache->memory();
}

ORTHROS_PROPERTY(base_caches_equal_for_any_two_output_sets, every) {
  const RandomModel drawn = draw_model(architecture_names());
  const auto model = subject.load(drawn.spec, drawn.weights());
  const auto tokens = draw_tokens(drawn.spec, draw_length(edge_of(drawn.spec), 1, longest));
  const auto length = static_cast<int64_t>(tokens.size());
  const Memory one = memory_of(*model, tokens, draw_outputs(1, length));
  const Memory other = memory_of(*model, tokens, draw_outputs(1, length));
  RC_ASSERT(same_bits(one, other));
}

ORTHROS_PROPERTY(recurrent_and_conv_states_ignore_the_output_set, every) {
  const RandomModel drawn = draw_model(recurrent_architectures());
  const auto model = subject.load(drawn.spec, drawn.weights());
  const auto tokens = draw_tokens(drawn.spec, draw_length(4, 1, longest));
  const auto length = static_cast<int64_t>(tokens.size());
  const Memory none = memory_of(*model, tokens, {});
  const Memory some = memory_of(*model, tokens, draw_outputs(1, length));
  for (size_t i = 0; i < none.size(); ++i) {
    RC_ASSERT(same_bits(none[i].state, some[i].state));
    RC_ASSERT(same_bits(none[i].conv_inputs, some[i].conv_inputs));
  }
}

ORTHROS_PROPERTY(an_empty_output_set_gives_pretrainings_cache, every) {
  const RandomModel drawn = draw_model(architecture_names());
  const auto model = subject.load(drawn.spec, drawn.weights());
  const auto tokens = draw_tokens(drawn.spec, draw_length(edge_of(drawn.spec), 1, longest));
  const auto all = positions(1, static_cast<int64_t>(tokens.size()));
  RC_ASSERT(same_bits(memory_of(*model, tokens, {}), memory_of(*model, tokens, all)));
}

ORTHROS_PROPERTY(logits_equal_at_positions_common_to_two_output_sets, every) {
  const RandomModel drawn = draw_model(architecture_names());
  const auto model = subject.load(drawn.spec, drawn.weights());
  const auto tokens = draw_tokens(drawn.spec, draw_length(edge_of(drawn.spec), 1, longest));
  const auto length = static_cast<int64_t>(tokens.size());
  const auto whole = model->new_cache();
  const Matrix<double> all = run(*model, *whole, tokens, positions(1, length));
  const auto some = draw_outputs(1, length);
  const auto cache = model->new_cache();
  RC_ASSERT(same_bits(run(*model, *cache, tokens, some), rows_at(all, some)));
}

ORTHROS_PROPERTY(duplicating_or_reordering_copies_duplicates_or_permutes_logits, every) {
  const RandomModel drawn = draw_model(architecture_names());
  const auto model = subject.load(drawn.spec, drawn.weights());
  const auto tokens = draw_tokens(drawn.spec, draw_length(edge_of(drawn.spec), 2, longest));
  const auto length = static_cast<int64_t>(tokens.size());
  const auto asked = draw_outputs(1, length);
  // `order` picks from `asked`, some more than once, some not at all.
  std::vector<int64_t> order;
  if (!asked.empty()) order = draw_outputs(1, static_cast<int64_t>(asked.size()));
  std::vector<int64_t> reordered;
  for (const int64_t i : order) reordered.push_back(asked[static_cast<size_t>(i - 1)]);
  const auto one = model->new_cache();
  const auto other = model->new_cache();
  const Matrix<double> logits = run(*model, *one, tokens, asked);
  RC_ASSERT(same_bits(run(*model, *other, tokens, reordered), rows_at(logits, order)));
}

ORTHROS_PROPERTY(replaying_a_copy_against_a_longer_cache_gives_its_original_logits, every) {
  const RandomModel drawn = draw_model(dual_softmax());
  const auto model = subject.load(drawn.spec, drawn.weights());
  const int64_t edge = edge_of(drawn.spec);
  const auto tokens = draw_tokens(drawn.spec, draw_length(edge, 1, longest));
  const auto more = draw_tokens(drawn.spec, draw_length(edge, 0, 6));
  const auto past = draw_outputs(1, static_cast<int64_t>(tokens.size()));
  const auto cache = model->new_cache();
  const Matrix<double> original = run(*model, *cache, tokens, past);
  run(*model, *cache, more, {});
  const Memory before = cache->memory();
  RC_ASSERT(same_bits(run(*model, *cache, {}, past), original));
  RC_ASSERT(same_bits(cache->memory(), before));
}

ORTHROS_PROPERTY(the_output_streams_scale_offset_and_the_head_change_no_cache, every) {
  const RandomModel drawn = draw_model({"orthros", "orthros-h"});
  const RandomWeights weights = drawn.weights();
  const auto changed =
      redrawn(weights, ends_with({"q_scale_output", "q_offset_output", "lm_head.weight"}),
              drawn.seed + 1, drawn.spec.norm);
  const auto tokens = draw_tokens(drawn.spec, draw_length(edge_of(drawn.spec), 1, longest));
  const auto outputs = draw_outputs(1, static_cast<int64_t>(tokens.size()));
  RC_ASSERT(same_bits(memory_of(*subject.load(drawn.spec, weights), tokens, outputs),
                      memory_of(*subject.load(drawn.spec, changed), tokens, outputs)));
}

ORTHROS_PROPERTY(a_layers_base_scale_offset_changes_caches_only_above_it, double_only) {
  RandomModel drawn = draw_model({"orthros"});
  // Wide enough that norms keep more of a row than its sign.
  drawn.spec.hidden = 8;
  const int64_t w = edge_of(drawn.spec);
  const auto layers = static_cast<int64_t>(drawn.spec.layers.size());
  const int64_t changed_layer = *rc::gen::inRange<int64_t>(0, layers).as("layer");
  const RandomWeights weights = drawn.weights();
  const std::string at = layer_prefix(changed_layer) + "self_attn.";
  const auto changed = redrawn(
      weights,
      [&](std::string_view name) { return name == at + "q_scale" || name == at + "q_offset"; },
      drawn.seed + 1, drawn.spec.norm);
  const auto tokens = draw_tokens(drawn.spec, draw_length(w, 1, longest));
  const Memory one = memory_of(*subject.load(drawn.spec, weights), tokens, {});
  const Memory other = memory_of(*subject.load(drawn.spec, changed), tokens, {});
  // A query over a single key weighs it with 1, whatever the query is.
  const bool queries_matter = w > 1 && tokens.size() > 1;
  for (int64_t i = 0; i < layers; ++i) {
    const bool same = same_bits(one[static_cast<size_t>(i)], other[static_cast<size_t>(i)]);
    RC_ASSERT(same == (i <= changed_layer || !queries_matter));
  }
}

ORTHROS_PROPERTY(copies_leave_recurrent_and_conv_states_untouched, every) {
  const RandomModel drawn = draw_model({"orthros-h"});
  const auto model = subject.load(drawn.spec, drawn.weights());
  const auto tokens = draw_tokens(drawn.spec, draw_length(4, 1, longest));
  const auto cache = model->new_cache();
  run(*model, *cache, tokens, {});
  const Memory before = cache->memory();
  const auto last = static_cast<int64_t>(tokens.size());
  run(*model, *cache, {}, {last, last});
  RC_ASSERT(same_bits(cache->memory(), before));
}

ORTHROS_PROPERTY(a_copys_result_ignores_the_conv_state_given_the_recurrent_state, every) {
  const RandomModel drawn = draw_model({"orthros-h"});
  const auto model = subject.load(drawn.spec, drawn.weights());
  const auto tokens = draw_tokens(drawn.spec, draw_length(4, 1, longest));
  const auto last = static_cast<int64_t>(tokens.size());
  const auto cache = model->new_cache();
  const Matrix<double> original = run(*model, *cache, tokens, {last});
  cache->fill_conv_inputs(17.0);
  RC_ASSERT(same_bits(run(*model, *cache, {}, {last}), original));
}

ORTHROS_PROPERTY(a_linear_layers_state_size_is_independent_of_the_length, double_only) {
  const RandomModel drawn = draw_model(recurrent_architectures());
  const auto model = subject.load(drawn.spec, drawn.weights());
  const auto tokens = draw_tokens(drawn.spec, draw_length(4, 1, longest));
  const Memory empty = model->new_cache()->memory();
  const Memory full = memory_of(*model, tokens, {});
  for (size_t i = 0; i < full.size() && i < drawn.spec.layers.size(); ++i) {
    const auto* linear = std::get_if<LinearMixer>(&drawn.spec.layers[i].mixer);
    if (linear == nullptr) continue;
    RC_ASSERT(full[i].state.size() ==
              linear->value_heads * linear->key_width * linear->value_width);
    RC_ASSERT(full[i].state.size() == empty[i].state.size());
    RC_ASSERT(full[i].conv_inputs.size() == empty[i].conv_inputs.size());
  }
}

ORTHROS_PROPERTY(kv_bytes_equal_bytes_allocated, every) {
  const RandomModel drawn = draw_model(architecture_names());
  const auto model = subject.load(drawn.spec, drawn.weights());
  const auto tokens = draw_tokens(drawn.spec, draw_length(edge_of(drawn.spec), 0, longest));
  const auto cache = model->new_cache();
  run(*model, *cache, tokens, {});
  const int64_t width = subject.scalar_bytes;
  // 2 b a token in each layer that owns keys and values, and once more for a shared pair.
  int64_t kv_widths = 0;
  for (size_t i = 0; i < drawn.spec.layers.size(); ++i) {
    const auto* softmax = std::get_if<SoftmaxAttention>(&drawn.spec.layers[i].mixer);
    const auto index = static_cast<int64_t>(i);
    if (softmax != nullptr && index <= drawn.spec.self_layers()) kv_widths += softmax->kv_width();
  }
  int64_t stored = 0;
  for (const LayerMemory& layer : cache->memory())
    stored += layer.keys.size() + layer.values.size();
  RC_ASSERT(cache->kv_bytes() == stored * width);
  RC_ASSERT(cache->kv_bytes() == 2 * kv_widths * width * static_cast<int64_t>(tokens.size()));
}

}  // namespace
}  // namespace orthros
