// Memory: what caches, states and weights take.
#include "sim/memory.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "reference/spec/input_error.hpp"
#include "reference/spec/tensor_table.hpp"
#include "tests/sim/specs.hpp"

namespace orthros {
namespace {

using test::preset;

int64_t kv_per_token(const char* model) {
  return memory_of(count_model(preset(model, "transformer")), {}, 1, 1).kv_per_token;
}

// Case 25.
TEST(sim_memory, kv_bytes_per_token_in_bf16) {
  EXPECT_EQ(kv_per_token("llama-3.1-8b"), 131'072);
  EXPECT_EQ(kv_per_token("qwen3-8b"), 147'456);
  ModelSpec qwen3_32b = preset("qwen3-8b", "transformer");
  SoftmaxAttention attention = std::get<SoftmaxAttention>(qwen3_32b.layers[0].mixer);
  attention.query_heads = 64;
  qwen3_32b.layers.assign(64, {attention, {25600}});
  qwen3_32b.hidden = 5120;
  EXPECT_EQ(memory_of(count_model(qwen3_32b), {}, 1, 1).kv_per_token, 262'144);
}

// Case 26: gpt-oss-20b, 24 layers of 8 KV heads x 64, every other one windowed to 128.
TEST(sim_memory, windowed_layers_cap_what_they_keep_and_orthros_never_does) {
  ModelSpec spec = preset("qwen3-8b", "transformer");
  SoftmaxAttention attention = std::get<SoftmaxAttention>(spec.layers[0].mixer);
  attention.query_heads = 64;
  attention.kv_heads = 8;
  attention.head_width = 64;
  attention.rope->width = 64;
  spec.layers.assign(24, {attention, {2880}});
  const auto kv = [](const ModelSpec& of) { return memory_of(count_model(of), {}, 32, 8192).kv; };
  constexpr double gibi = 1024.0 * 1024.0 * 1024.0;
  EXPECT_EQ(static_cast<double>(kv(spec)) / gibi, 12.0);
  ModelSpec windowed = spec;
  for (size_t i = 0; i < 24; i += 2) {
    std::get<SoftmaxAttention>(windowed.layers[i].mixer).window = 128;
  }
  EXPECT_NEAR(static_cast<double>(kv(windowed)) / gibi, 6.09, 0.005);  // as reported, two decimals
  for (int64_t w : {1, 128, 4096}) {
    EXPECT_EQ(kv(orthros(spec, w, ScaleOffset::after_qk_norm)), kv(spec));
  }
}

TEST(sim_memory, a_gdn_layer_of_qwen3_5_9b_keeps_2_mib_of_state_and_48_kib_of_taps) {
  const CountModel model = count_model(preset("qwen3.5-9b", "linear-hybrid"));
  const Memory memory = memory_of(model, {}, 1, 100);
  EXPECT_EQ(memory.state, 24 * (2 * 1024 * 1024 + 48 * 1024));
  EXPECT_EQ(memory.kv_per_token, 32 * 1024);
}

TEST(sim_memory, the_decoder_decoder_keeps_one_shared_cache) {
  const ModelSpec spec = preset("qwen3-8b", "yoco", 128);
  const int64_t per_layer = 2 * 1024 * 2;
  EXPECT_EQ(memory_of(count_model(spec), {}, 3, 1000).kv, 3 * (18 * 128 + 1000) * per_layer);
}

RC_GTEST_PROP(sim_memory, kv_equals_a_loop_over_layers_and_positions, ()) {
  const ModelSpec spec = test::random_spec();
  const auto batch = *rc::gen::inRange<int64_t>(1, 5);
  const auto tokens = *rc::gen::inRange<int64_t>(0, 40);
  int64_t bytes = 0;
  bool shared = false;
  for (const Layer& layer : spec.layers) {
    const auto* mixer = std::get_if<SoftmaxAttention>(&layer.mixer);
    if (mixer == nullptr || (mixer->kv == KvSource::shared && shared)) continue;
    shared = shared || mixer->kv == KvSource::shared;
    for (int64_t t = 1; t <= tokens; ++t) {
      const bool evicted =
          spec.streams == Streams::single && mixer->window && t <= tokens - *mixer->window;
      if (!evicted) bytes += batch * 2 * mixer->kv_width() * 2;
    }
  }
  RC_ASSERT(memory_of(count_model(spec), {}, batch, tokens).kv == bytes);
}

TEST(sim_memory, weights_are_every_parameter) {
  const ModelSpec spec = preset("qwen3-8b", "transformer");
  EXPECT_EQ(memory_of(count_model(spec), {}, 1, 1).weights, 2 * parameter_count(spec));
}

TEST(sim_memory, kv_heads_fewer_than_ranks_are_replicated) {
  const CountModel model = count_model(preset("qwen3-8b", "transformer"));  // 8 KV heads
  Deployment to;
  to.tensor_parallel = 4;
  EXPECT_EQ(memory_of(model, to, 1, 1).kv_per_token, 147'456 / 4);
  to.tensor_parallel = 16;
  EXPECT_EQ(memory_of(model, to, 1, 1).kv_per_token, 147'456 / 8);
}

RC_GTEST_PROP(sim_memory, the_largest_batch_and_context_fit_and_one_more_does_not, ()) {
  const CountModel model = count_model(preset("qwen3-8b", "orthros", 128));
  constexpr int64_t capacity = 80'000'000'000;
  const auto tokens = *rc::gen::inRange<int64_t>(1, 200'000);
  const int64_t batch = largest_batch(model, {}, tokens, capacity, 0);
  const auto total = [&](int64_t b, int64_t t) { return memory_of(model, {}, b, t).total; };
  RC_ASSERT(batch == 0 || total(batch, tokens) <= capacity);
  RC_ASSERT(total(batch + 1, tokens) > capacity);
  const auto rows = *rc::gen::inRange<int64_t>(1, 64);
  const int64_t context = largest_context(model, {}, rows, capacity, 0);
  RC_ASSERT(total(rows, context) <= capacity);
  RC_ASSERT(total(rows, context + 1) > capacity);
}

TEST(sim_memory, overflow_is_refused) {
  const CountModel model = count_model(preset("qwen3-8b", "transformer"));
  EXPECT_THROW(memory_of(model, {}, longest_sequence, longest_sequence), InputError);
}

}  // namespace
}  // namespace orthros
