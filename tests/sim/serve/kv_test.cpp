// KV layout, memory that grows, and the prefix cache.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/memory.hpp"
#include "sim/serve/kv_memory.hpp"
#include "sim/serve/prefix_cache.hpp"
#include "tests/sim/specs.hpp"

namespace orthros {
namespace {

RC_GTEST_PROP(sim_kv_layout, blocks_of_one_token_take_what_memory_says, ()) {
  const CountModel model = count_model(test::random_spec());
  Deployment deployment;
  deployment.tensor_parallel = *rc::gen::inRange<int64_t>(1, 4);
  const KvLayout layout = kv_layout(model, deployment, 1);
  const auto tokens = *rc::gen::inRange<int64_t>(1, 40);
  const Memory memory = memory_of(model, deployment, 1, tokens);
  RC_ASSERT(layout.bytes(tokens) == memory.kv + memory.state);
}

RC_GTEST_PROP(sim_kv_layout, blocks_hold_what_they_must_and_little_more, ()) {
  const CountModel model = count_model(test::random_spec());
  const auto size = *rc::gen::inRange<int64_t>(1, 30);
  const KvLayout layout = kv_layout(model, {}, size);
  const auto tokens = *rc::gen::inRange<int64_t>(1, 100);
  const Memory memory = memory_of(model, {}, 1, tokens);
  RC_ASSERT(layout.bytes(tokens) >= memory.kv + memory.state);
  // A block per pool is partly empty, another straddles a window's far end.
  RC_ASSERT(layout.bytes(tokens) <= memory.kv + memory.state + 2 * layout.next_token_bytes());
  const int64_t added = layout.bytes(tokens + 1) - layout.bytes(tokens);
  RC_ASSERT(added >= 0);
  RC_ASSERT(added <= layout.next_token_bytes());
}

TEST(sim_kv_layout, two_streams_keep_every_token_whatever_the_window) {
  const KvLayout full = kv_layout(count_model(test::preset("qwen3-8b", "transformer")), {}, 16);
  const KvLayout dual = kv_layout(count_model(test::preset("qwen3-8b", "orthros", 128)), {}, 16);
  EXPECT_EQ(dual.bytes(100'000), full.bytes(100'000));
  EXPECT_EQ(full.bytes(100'000), 100'000LL * 147'456);
  EXPECT_TRUE(dual.resident());
  const KvLayout windowed = kv_layout(count_model(test::preset("qwen3-8b", "swa", 128)), {}, 16);
  EXPECT_EQ(windowed.bytes(100'000), 9LL * 16 * 147'456);  // 127 earlier keys and one: 9 blocks
  EXPECT_FALSE(windowed.resident());
  EXPECT_FALSE(kv_layout(count_model(test::preset("qwen3-8b", "gdn")), {}, 16).resident());
}

// Against a list of sequences that is looked through again each time.
RC_GTEST_PROP(sim_kv_memory, closed_forms_equal_counting_every_sequence, ()) {
  const CountModel model = count_model(test::random_spec());
  const KvLayout layout = kv_layout(model, {}, *rc::gen::inRange<int64_t>(1, 9));
  KvMemory memory(layout);
  std::vector<int64_t> growing;
  const auto bytes_after = [&](int64_t steps) {
    int64_t bytes = 0;
    for (const int64_t tokens : growing) bytes += layout.bytes(tokens + steps);
    return bytes;
  };
  for (int round = *rc::gen::inRange(1, 20); round > 0; --round) {
    if (growing.empty() || *rc::gen::inRange(0, 3) > 0) {
      growing.push_back(*rc::gen::inRange<int64_t>(1, 60));
      memory.start_growing(growing.back());
    } else {
      const auto at = *rc::gen::inRange<size_t>(0, growing.size());
      memory.stop_growing(growing[at]);
      growing.erase(growing.begin() + static_cast<std::ptrdiff_t>(at));
    }
    RC_ASSERT(memory.used() == bytes_after(0));
    const int64_t steps =
        *rc::gen::inRange<int64_t>(1, 1 + std::min<int64_t>(memory.steady_steps(), 50));
    RC_ASSERT(memory.used_after(steps) == bytes_after(steps));
    const int64_t room = bytes_after(0) + *rc::gen::inRange<int64_t>(0, 2000);
    const int64_t within = memory.steps_within(room, steps);
    RC_ASSERT(within == 0 || bytes_after(within) <= room);
    RC_ASSERT(within == steps || bytes_after(within + 1) > room);
    memory.advance(steps);
    for (int64_t& tokens : growing) tokens += steps;
    RC_ASSERT(memory.used() == bytes_after(0));
    if (memory.steady_steps() > 0) continue;
    memory.clear_growing();
    for (const int64_t tokens : growing) memory.start_growing(tokens);
  }
}

TEST(sim_prefix_cache, a_prefix_is_what_is_held_without_a_gap) {
  PrefixCache cache;
  const std::vector<int64_t> ids = {1, 2, 3};
  cache.acquire(ids);
  EXPECT_EQ(cache.match(std::vector<int64_t>{1, 2, 9, 3}), 2);
  EXPECT_EQ(cache.match(std::vector<int64_t>{9, 1}), 0);
  EXPECT_EQ(cache.blocks(), 3);
  EXPECT_EQ(cache.idle_blocks(), 0);
}

TEST(sim_prefix_cache, the_least_recently_used_goes_first_and_tails_before_heads) {
  PrefixCache cache;
  const std::vector<int64_t> old = {1, 2}, fresh = {5, 6};
  cache.acquire(old);
  cache.acquire(fresh);
  cache.release(old);
  cache.release(fresh);
  EXPECT_EQ(cache.idle_blocks(), 4);
  cache.drop_oldest();
  EXPECT_EQ(cache.match(old), 1);  // 2 went
  cache.acquire(std::vector<int64_t>{1});
  cache.release(std::vector<int64_t>{1});  // used again: now the newest
  cache.drop_oldest();
  EXPECT_EQ(cache.match(fresh), 1);  // 6 went
  cache.drop_oldest();
  EXPECT_EQ(cache.match(fresh), 0);
  EXPECT_EQ(cache.match(old), 1);
}

TEST(sim_prefix_cache, what_is_referred_to_is_never_idle) {
  PrefixCache cache;
  const std::vector<int64_t> ids = {1, 2};
  cache.acquire(ids);
  cache.acquire(ids);
  EXPECT_EQ(cache.references(), 4);
  cache.release(ids);
  EXPECT_EQ(cache.idle_blocks(), 0);
  EXPECT_EQ(cache.idle_among(ids), 0);
  cache.release(ids);
  EXPECT_EQ(cache.idle_among(ids), 2);
  EXPECT_EQ(cache.references(), 0);
}

}  // namespace
}  // namespace orthros
