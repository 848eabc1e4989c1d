// However tokens are cut into calls, and wherever memory is forked or cut back, bits stay.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/support/property.hpp"
#include "tests/support/random_model.hpp"
#include "tests/support/runs.hpp"

namespace orthros {
namespace {

constexpr int64_t longest = 14;

ORTHROS_PROPERTY(every_chunk_partition_equals_one_shot, every) {
  const RandomModel drawn = draw_model(architecture_names());
  const auto model = subject.load(drawn.spec, drawn.weights());
  const int64_t edge = edge_of(drawn.spec);
  const auto tokens = draw_tokens(drawn.spec, draw_length(edge, 1, longest));
  const auto length = static_cast<int64_t>(tokens.size());
  const auto outputs = draw_outputs(1, length);
  const auto whole = model->new_cache();
  const auto cut = model->new_cache();
  const Matrix<double> expected = run(*model, *whole, tokens, outputs);
  const auto pieces = draw_pieces(edge, length);
  RC_ASSERT(same_bits(run_in_pieces(*model, *cut, tokens, pieces, outputs), expected));
  RC_ASSERT(same_bits(cut->memory(), whole->memory()));
}

ORTHROS_PROPERTY(prefill_and_n_decodes_equal_one_forward, every) {
  const RandomModel drawn = draw_model(architecture_names());
  const auto model = subject.load(drawn.spec, drawn.weights());
  const int64_t edge = edge_of(drawn.spec);
  const auto tokens = draw_tokens(drawn.spec, draw_length(edge, 1, longest));
  const auto length = static_cast<int64_t>(tokens.size());
  const int64_t prompt = draw_length(edge, 1, length);
  std::vector<int64_t> steps(static_cast<size_t>(length - prompt + 1), 1);
  steps[0] = prompt;
  const auto whole = model->new_cache();
  const auto stepped = model->new_cache();
  const auto outputs = positions(prompt, length);
  const Matrix<double> expected = run(*model, *whole, tokens, outputs);
  RC_ASSERT(same_bits(run_in_pieces(*model, *stepped, tokens, steps, outputs), expected));
  RC_ASSERT(same_bits(stepped->memory(), whole->memory()));
}

ORTHROS_PROPERTY(a_decoder_decoders_prefill_at_the_end_equals_all_outputs_at_the_end, every) {
  const RandomModel drawn = draw_model({"yoco", "yoco-retention"});
  const auto model = subject.load(drawn.spec, drawn.weights());
  const auto tokens = draw_tokens(drawn.spec, draw_length(edge_of(drawn.spec), 1, longest));
  const auto last = static_cast<int64_t>(tokens.size());
  const auto one = model->new_cache();
  const auto all = model->new_cache();
  const Matrix<double> every = run(*model, *all, tokens, positions(1, last));
  RC_ASSERT(same_bits(run(*model, *one, tokens, {last}), rows_at(every, {last})));
  RC_ASSERT(same_bits(one->memory(), all->memory()));
}

ORTHROS_PROPERTY(a_forked_cache_goes_on_as_its_source_would_and_leaves_it_alone, every) {
  const RandomModel drawn = draw_model(architecture_names());
  const auto model = subject.load(drawn.spec, drawn.weights());
  const int64_t edge = edge_of(drawn.spec);
  const auto prompt = draw_tokens(drawn.spec, draw_length(edge, 0, 8));
  const auto one = draw_tokens(drawn.spec, draw_length(edge, 1, 6));
  const auto other = draw_tokens(drawn.spec, draw_length(edge, 1, 6));
  const auto ends = [&](const std::vector<int64_t>& tokens) {
    return std::vector<int64_t>{static_cast<int64_t>(prompt.size() + tokens.size())};
  };
  const auto source = model->new_cache();
  run(*model, *source, prompt, {});
  const auto fork = source->fork();
  run(*model, *fork, other, ends(other));
  const Matrix<double> logits = run(*model, *source, one, ends(one));
  const auto fresh = model->new_cache();
  std::vector<int64_t> whole = prompt;
  whole.insert(whole.end(), one.begin(), one.end());
  RC_ASSERT(same_bits(run(*model, *fresh, whole, ends(one)), logits));
  RC_ASSERT(same_bits(fresh->memory(), source->memory()));
}

ORTHROS_PROPERTY(a_truncated_cache_equals_one_that_never_went_further, every) {
  const RandomModel drawn = draw_model({"orthros", "orthros-noso", "transformer", "swa", "yoco"});
  const auto model = subject.load(drawn.spec, drawn.weights());
  const int64_t edge = edge_of(drawn.spec);
  const auto tokens = draw_tokens(drawn.spec, draw_length(edge, 1, longest));
  const int64_t kept = draw_length(edge, 0, static_cast<int64_t>(tokens.size()));
  const auto more = draw_tokens(drawn.spec, draw_length(edge, 1, 6));
  const std::vector<int64_t> end = {kept + static_cast<int64_t>(more.size())};
  const auto cut = model->new_cache();
  run(*model, *cut, tokens, {});
  cut->truncate(kept);
  const auto fresh = model->new_cache();
  run(*model, *fresh, {tokens.begin(), tokens.begin() + kept}, {});
  RC_ASSERT(same_bits(cut->memory(), fresh->memory()));
  RC_ASSERT(same_bits(run(*model, *cut, more, end), run(*model, *fresh, more, end)));
  RC_ASSERT(same_bits(cut->memory(), fresh->memory()));
}

ORTHROS_PROPERTY(a_cache_truncated_to_nothing_is_as_new, every) {
  const RandomModel drawn = draw_model(recurrent_architectures());
  const auto model = subject.load(drawn.spec, drawn.weights());
  const auto tokens = draw_tokens(drawn.spec, draw_length(4, 1, longest));
  const auto cache = model->new_cache();
  run(*model, *cache, tokens, {});
  cache->truncate(0);
  RC_ASSERT(same_bits(cache->memory(), model->new_cache()->memory()));
}

ORTHROS_PROPERTY(fine_tunings_loss_is_pretrainings_masked, every) {
  const RandomModel drawn = draw_model(architecture_names());
  const auto model = subject.load(drawn.spec, drawn.weights());
  const auto tokens = draw_tokens(drawn.spec, draw_length(edge_of(drawn.spec), 2, longest));
  const auto length = static_cast<int64_t>(tokens.size());
  const int64_t prompt = draw_length(edge_of(drawn.spec), 1, length - 1);
  std::optional<int64_t> end;
  if (*rc::gen::arbitrary<bool>().as("end token")) end = 0;
  const Loss all = model->pretrain(tokens, end);
  const Loss answer = model->fine_tune(tokens, prompt, end);
  const int64_t last = end ? length : length - 1;
  RC_ASSERT(all.positions == positions(1, last));
  RC_ASSERT(answer.positions == positions(prompt, last));
  const std::vector<double> masked(all.each.begin() + (prompt - 1), all.each.end());
  RC_ASSERT(answer.each == masked);
  double sum = 0.0;
  for (const double each : masked) sum += each;
  RC_ASSERT(answer.mean() == sum / static_cast<double>(masked.size()));
}

}  // namespace
}  // namespace orthros
