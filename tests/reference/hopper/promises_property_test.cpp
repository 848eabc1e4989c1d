// The bit promises in the engine's arithmetic, over windows to 4096 and lengths around split edges.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "reference/hopper/forward.hpp"
#include "tests/support/random_model.hpp"
#include "tests/support/runs.hpp"
#include "tests/support/subject_model.hpp"

namespace orthros {
namespace {

struct Drawn {
  std::unique_ptr<AnyModel> model;
  std::vector<int64_t> tokens;
  int64_t length = 0;
};

// A small model of softmax layers with a window from 1 to 4096, and a sequence whose end stands at
// an edge of its window, of a 16-key block or of a 512-key split, or anywhere below `longest`.
Drawn draw(const std::vector<std::string>& architectures, int64_t longest) {
  RandomModel drawn = draw_model(architectures);
  const auto window =
      *rc::gen::element<int64_t>(1, 2, 3, 15, 16, 17, 100, 127, 128, 129, 511, 512, 513, 1024, 4096)
           .as("window");
  if (drawn.spec.layers.size() > 2 && drawn.spec.self_layers() == std::ssize(drawn.spec.layers)) {
    drawn.spec.layers.resize(2);
  }
  for (Layer& layer : drawn.spec.layers) {
    auto& mixer = std::get<SoftmaxAttention>(layer.mixer);
    if (mixer.window) mixer.window = window;
  }
  validate(drawn.spec);
  std::vector<int64_t> edges;
  for (const int64_t edge : {int64_t{1}, int64_t{16}, int64_t{512}, int64_t{1024}, window}) {
    for (const int64_t length : {edge - 1, edge, edge + 1}) {
      if (length >= 1 && length <= longest) edges.push_back(length);
    }
  }
  const bool at_edge = *rc::gen::arbitrary<bool>().as("length at an edge");
  const int64_t length = at_edge ? *rc::gen::elementOf(edges).as("length")
                                 : *rc::gen::inRange<int64_t>(1, longest + 1).as("length");
  Drawn result;
  result.model = SubjectModel<Hopper, configured_fault>::load(drawn.spec, drawn.weights());
  result.tokens = draw_tokens(drawn.spec, length);
  result.length = length;
  return result;
}

const std::vector<std::string>& softmax_models() {
  static const std::vector<std::string> names = {"orthros", "orthros-noso", "transformer", "swa",
                                                 "yoco"};
  return names;
}

// Some positions up to the end: the end itself, those beside split edges, and one of any.
std::vector<int64_t> draw_positions(int64_t first, int64_t last) {
  std::vector<int64_t> chosen = {last};
  for (const int64_t edge : {16, 511, 512, 513, 1023, 1024, 1025}) {
    if (edge >= first && edge < last) chosen.push_back(edge);
  }
  chosen.push_back(*rc::gen::inRange<int64_t>(first, last + 1).as("position"));
  return chosen;
}

std::vector<int64_t> cut(int64_t length) {
  std::vector<int64_t> pieces;
  while (length > 0) {
    const auto piece = std::min(
        length, *rc::gen::element<int64_t>(1, 1, 15, 16, 17, 128, 300, 511, 512, 513).as("piece"));
    pieces.push_back(piece);
    length -= piece;
  }
  return pieces;
}

RC_GTEST_PROP(hopper_promises, any_chunks_equal_one_call, ()) {
  const Drawn drawn = draw(softmax_models(), 1100);
  const auto outputs = draw_positions(1, drawn.length);
  const auto whole = drawn.model->new_cache();
  const auto chunked = drawn.model->new_cache();
  const auto expected = run(*drawn.model, *whole, drawn.tokens, outputs);
  RC_ASSERT(same_bits(
      run_in_pieces(*drawn.model, *chunked, drawn.tokens, cut(drawn.length), outputs), expected));
  RC_ASSERT(same_bits(chunked->memory(), whole->memory()));
}

RC_GTEST_PROP(hopper_promises, decode_equals_prefill_and_one_forward, ()) {
  const Drawn drawn = draw(softmax_models(), 1100);
  const int64_t steps = std::min<int64_t>(drawn.length - 1, 40);
  std::vector<int64_t> pieces(static_cast<size_t>(steps + 1), 1);
  pieces[0] = drawn.length - steps;
  const auto outputs = positions(drawn.length - steps, drawn.length);
  const auto whole = drawn.model->new_cache();
  const auto stepped = drawn.model->new_cache();
  const auto expected = run(*drawn.model, *whole, drawn.tokens, outputs);
  RC_ASSERT(
      same_bits(run_in_pieces(*drawn.model, *stepped, drawn.tokens, pieces, outputs), expected));
  RC_ASSERT(same_bits(stepped->memory(), whole->memory()));
}

RC_GTEST_PROP(hopper_promises, copies_change_no_cache, ()) {
  const Drawn drawn = draw(dual_softmax(), 600);
  const auto with = drawn.model->new_cache();
  const auto without = drawn.model->new_cache();
  run(*drawn.model, *with, drawn.tokens, draw_positions(1, drawn.length));
  run(*drawn.model, *without, drawn.tokens, {});
  RC_ASSERT(same_bits(with->memory(), without->memory()));
}

RC_GTEST_PROP(hopper_promises, a_sequence_does_not_notice_its_companions_or_packing, ()) {
  const Drawn drawn = draw(softmax_models(), 600);
  const auto outputs = draw_positions(1, drawn.length);
  const auto alone = drawn.model->new_cache();
  const auto expected = run(*drawn.model, *alone, drawn.tokens, outputs);

  const auto companion_tokens = draw_tokens(drawn.model->spec(), 21);
  const auto beside = drawn.model->new_cache();
  const auto companion = drawn.model->new_cache();
  const std::vector<Part> batch = {{companion.get(), companion_tokens, {21}},
                                   {beside.get(), drawn.tokens, outputs}};
  const auto logits = drawn.model->forward(batch, {});
  RC_ASSERT(same_bits(logits[1], expected));
  RC_ASSERT(same_bits(beside->memory(), alone->memory()));

  // The same behind another document of one sequence.
  std::vector<int64_t> packed = companion_tokens;
  packed.insert(packed.end(), drawn.tokens.begin(), drawn.tokens.end());
  std::vector<int64_t> documents(companion_tokens.size(), 4);
  documents.resize(packed.size(), 9);
  std::vector<int64_t> shifted;
  for (const int64_t position : outputs) shifted.push_back(position + 21);
  const auto together = drawn.model->new_cache();
  RC_ASSERT(same_bits(run(*drawn.model, *together, packed, shifted, {}, documents), expected));
}

RC_GTEST_PROP(hopper_promises, a_window_past_the_end_equals_full_attention_within_one_split, ()) {
  // Both are one range then; past 512 keys the full attention merges splits and may differ.
  RandomModel drawn = draw_model({"transformer"});
  const auto length = *rc::gen::element<int64_t>(1, 17, 128, 511, 512).as("length");
  ModelSpec windowed = drawn.spec;
  for (Layer& layer : windowed.layers) std::get<SoftmaxAttention>(layer.mixer).window = length;
  const auto full_model = SubjectModel<Hopper, configured_fault>::load(drawn.spec, drawn.weights());
  const auto windowed_model =
      SubjectModel<Hopper, configured_fault>::load(windowed, drawn.weights());
  const auto tokens = draw_tokens(drawn.spec, length);
  const auto full = full_model->new_cache();
  const auto cut_off = windowed_model->new_cache();
  RC_ASSERT(same_bits(run(*full_model, *full, tokens, {length}),
                      run(*windowed_model, *cut_off, tokens, {length})));
}

}  // namespace
}  // namespace orthros
