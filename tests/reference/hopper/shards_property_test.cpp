// A prompt prefilled in shards that know nothing of each other: the bits of one call.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstring>

#include "reference/hopper/forward.hpp"
#include "reference/model/shards.hpp"
#include "tests/support/random_model.hpp"

namespace orthros {
namespace {

template <class S>
bool same_bits(const Matrix<S>& a, const Matrix<S>& b) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) return false;
  return a.size() == 0 ||
         std::memcmp(a.data(), b.data(), static_cast<size_t>(a.size()) * sizeof(S)) == 0;
}

struct Drawn {
  RandomModel model;
  std::vector<int64_t> tokens;
  std::vector<int64_t> outputs;
};

Drawn draw() {
  Drawn drawn{draw_model({"orthros", "orthros-noso", "swa"}), {}, {}};
  const auto window = *rc::gen::element<int64_t>(1, 2, 3, 15, 16, 17, 40).as("window");
  for (Layer& layer : drawn.model.spec.layers) {
    std::get<SoftmaxAttention>(layer.mixer).window = window;
  }
  const auto length = *rc::gen::inRange<int64_t>(1, 500).as("tokens");
  drawn.tokens = draw_tokens(drawn.model.spec, length);
  drawn.outputs = draw_outputs(1, length);
  return drawn;
}

// Whether shards give the caches and logits of one call.
template <class S>
bool equals_one_call(const Drawn& drawn, const std::vector<Shard>& shards) {
  const Model<S> model = load_model<S>(drawn.model.spec, drawn.model.weights());
  Cache<S> whole(model.spec);
  Cache<S> sharded(model.spec);
  const Logits<S> expected = forward<S>(model, whole, drawn.tokens, drawn.outputs);
  const Logits<S> logits = prefill_shards<S>(model, sharded, drawn.tokens, drawn.outputs, shards);
  bool same = same_bits(expected, logits) && sharded.length() == whole.length();
  for (size_t l = 0; l < whole.layers.size(); ++l) {
    const auto& a = std::get<KvCache<S>>(whole.layers[l]);
    const auto& b = std::get<KvCache<S>>(sharded.layers[l]);
    same = same && same_bits(a.keys, b.keys) && same_bits(a.values, b.values);
  }
  return same;
}

RC_GTEST_PROP(shards, with_their_left_context_run_again_equal_one_call_in_every_scalar, ()) {
  const Drawn drawn = draw();
  const auto count = *rc::gen::inRange<int64_t>(1, 8).as("shards");
  constexpr int64_t align = 16;  // windows see blocks of 16; splits are the copies'
  const auto shards = plan_shards(drawn.model.spec, std::ssize(drawn.tokens), count, align);
  RC_ASSERT(equals_one_call<double>(drawn, shards));
  RC_ASSERT(equals_one_call<bfloat16>(drawn, shards));
  RC_ASSERT(equals_one_call<Hopper>(drawn, shards));
}

RC_GTEST_PROP(shards, cover_the_prompt_at_aligned_places, ()) {
  const Drawn drawn = draw();
  const auto count = *rc::gen::inRange<int64_t>(1, 40).as("shards");
  const auto tokens = *rc::gen::inRange<int64_t>(1, 100000).as("tokens");
  const auto shards = plan_shards(drawn.model.spec, tokens, count);
  RC_ASSERT(std::ssize(shards) >= 1 && std::ssize(shards) <= count);
  int64_t next = 0;
  for (const Shard& shard : shards) {
    RC_ASSERT(shard.begin == next && shard.end > shard.begin);
    RC_ASSERT(shard.begin % 512 == 0 && shard.from % 512 == 0);
    RC_ASSERT(shard.from == 0 || shard.begin - shard.from >= base_reach(drawn.model.spec));
    next = shard.end;
  }
  RC_ASSERT(next == tokens);
}

TEST(shards, without_all_of_their_left_context_differ) {
  // 3 layers of window 17 reach back 48 tokens; the last one's keys and values 32, and 16 are not
  // enough for these.
  Drawn drawn;
  SoftmaxAttention mixer;
  mixer.query_heads = mixer.kv_heads = 1;
  mixer.head_width = 8;
  mixer.window = 17;
  drawn.model.spec.vocab = 50;
  drawn.model.spec.hidden = 8;
  drawn.model.spec.streams = Streams::dual;
  drawn.model.spec.layers.assign(3, Layer{mixer, SwiGlu{8}});
  validate(drawn.model.spec);
  for (int64_t t = 0; t < 160; ++t) drawn.tokens.push_back(t * 7 % 50);
  drawn.outputs = {160};
  std::vector<Shard> shards = plan_shards(drawn.model.spec, 160, 2, 16);
  ASSERT_EQ(shards.size(), 2u);
  EXPECT_EQ(shards[1].begin - shards[1].from, 48);
  EXPECT_TRUE(equals_one_call<double>(drawn, shards));
  shards[1].from += 32;
  EXPECT_FALSE(equals_one_call<double>(drawn, shards));
}

TEST(shards, of_a_model_that_sees_everything_are_refused) {
  ModelSpec spec;
  SoftmaxAttention mixer;
  mixer.query_heads = mixer.kv_heads = 1;
  mixer.head_width = 8;
  spec.layers.assign(1, Layer{mixer, SwiGlu{8}});
  EXPECT_THROW(plan_shards(spec, 1000, 2), InputError);
}

}  // namespace
}  // namespace orthros
