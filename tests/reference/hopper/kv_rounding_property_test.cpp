// Caches of e4m3 entries in the reference: what they hold, and that the bit promises hold over
// them.
#include "reference/hopper/kv_rounding.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "reference/hopper/forward.hpp"
#include "tests/support/random_model.hpp"

namespace orthros::hopper {
namespace {

struct Drawn {
  Model<Hopper> model;
  std::vector<int64_t> tokens;
  KvScales scales;

  ForwardOptions<Hopper> options(const KvScales& with) const {
    ForwardOptions<Hopper> result;
    result.round_kv = [&with](int64_t layer, Matrix<Hopper>& keys, Matrix<Hopper>& values) {
      round_to_entries(with, layer, false, keys);
      round_to_entries(with, layer, true, values);
    };
    return result;
  }
};

Drawn draw() {
  RandomModel drawn = draw_model(own_kv_softmax());
  const int64_t length = draw_length(edge_of(drawn.spec), 1, 24);
  Drawn result{load_model<Hopper>(drawn.spec, drawn.weights()), draw_tokens(drawn.spec, length),
               KvScales(drawn.spec)};
  for (int64_t layer = 0; layer < result.scales.layers(); ++layer) {
    for (const bool values : {false, true}) {
      for (int64_t head = 0; head < result.scales.kv_heads(); ++head) {
        result.scales.set_exponent(layer, values, head, *rc::gen::inRange(-8, 3).as("exponent"));
      }
    }
  }
  return result;
}

bool same(const Matrix<float>& a, const Matrix<float>& b) {
  for (int64_t i = 0; i < a.size(); ++i) {
    if (bits_of(a.data()[i]) != bits_of(b.data()[i])) return false;
  }
  return a.size() == b.size();
}

RC_GTEST_PROP(kv_rounding, what_the_cache_holds_is_an_entry_times_its_heads_scale, ()) {
  const Drawn drawn = draw();
  Cache<Hopper> cache(drawn.model.spec);
  forward<Hopper>(drawn.model, cache, drawn.tokens, {}, drawn.options(drawn.scales));
  for (size_t i = 0; i < cache.layers.size(); ++i) {
    const auto& kv = std::get<KvCache<Hopper>>(cache.layers[i]);
    for (const bool values : {false, true}) {
      const Matrix<Hopper>& rows = values ? kv.values : kv.keys;
      const int64_t width = rows.cols() / drawn.scales.kv_heads();
      for (int64_t at = 0; at < rows.size(); ++at) {
        const int exponent =
            drawn.scales.exponent(static_cast<int64_t>(i), values, at % rows.cols() / width);
        const auto value = static_cast<float>(rows.data()[at]);
        RC_ASSERT(rows.data()[at].bits() == widen_e4m3(entry_of(value, exponent), exponent));
      }
    }
  }
}

RC_GTEST_PROP(kv_rounding, pieces_give_the_bits_of_the_whole, ()) {
  const Drawn drawn = draw();
  const auto length = static_cast<int64_t>(drawn.tokens.size());
  const std::vector<int64_t> last = {length};
  const auto options = drawn.options(drawn.scales);
  Cache<Hopper> whole(drawn.model.spec);
  const auto expected = forward<Hopper>(drawn.model, whole, drawn.tokens, last, options);
  Cache<Hopper> pieces(drawn.model.spec);
  std::span<const int64_t> left = drawn.tokens;
  Logits<Hopper> actual;
  for (const int64_t piece : draw_pieces(edge_of(drawn.model.spec), length)) {
    const bool ends = piece == std::ssize(left);
    actual = forward<Hopper>(drawn.model, pieces, left.first(static_cast<size_t>(piece)),
                             ends ? std::span<const int64_t>(last) : std::span<const int64_t>(),
                             options);
    left = left.subspan(static_cast<size_t>(piece));
  }
  RC_ASSERT(same(expected, actual));
}

// A test of the tests: with the next head's scales a run is another.
TEST(kv_rounding, another_heads_scale_gives_other_bits) {
  RandomModel small;
  SoftmaxAttention mixer;
  mixer.query_heads = 2;
  mixer.kv_heads = 2;
  mixer.head_width = 8;
  small.spec.vocab = 17;
  small.spec.hidden = 8;
  small.spec.layers.assign(1, Layer{mixer, SwiGlu{8}});
  const auto model = load_model<Hopper>(small.spec, small.weights());
  const Drawn drawn{model, {1, 2, 3, 4}, KvScales(small.spec)};
  KvScales right = drawn.scales;
  KvScales wrong = drawn.scales;
  right.set_exponent(0, true, 0, least_e4m3_exponent);
  wrong.set_exponent(0, true, 1, least_e4m3_exponent);
  const std::vector<int64_t> last = {4};
  Cache<Hopper> one(small.spec);
  Cache<Hopper> other(small.spec);
  EXPECT_FALSE(same(forward<Hopper>(model, one, drawn.tokens, last, drawn.options(right)),
                    forward<Hopper>(model, other, drawn.tokens, last, drawn.options(wrong))));
}

}  // namespace
}  // namespace orthros::hopper
