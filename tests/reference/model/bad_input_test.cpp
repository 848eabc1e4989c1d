// What forward and caches refuse, in one line, with no cache changed.
#include <gtest/gtest.h>

#include "tests/reference/model/fixed_model.hpp"
#include "tests/reference/spec/refusal.hpp"
#include "tests/support/runs.hpp"

namespace orthros {
namespace {

struct Fixed {
  explicit Fixed(const std::string& architecture)
      : spec(fixed_spec(architecture, 4)),
        model(double_subject().load(spec, fixed_weights(spec))),
        good(model->new_cache()),
        cache(model->new_cache()) {
    run(*model, *cache, fixed_tokens(4), {});
  }

  // The refusal of a batch whose second sequence is `part`; nothing may have changed.
  std::string refusal(Part part) {
    const Memory before = cache->memory();
    part.cache = cache.get();
    const std::vector<Part> batch = {{good.get(), {1, 2}, {2}}, std::move(part)};
    const std::string line = refusal_of([&] { return model->forward(batch, {}); });
    EXPECT_EQ(good->length(), 0);
    EXPECT_EQ(cache->length(), 4);
    EXPECT_TRUE(same_bits(cache->memory(), before));
    return line;
  }

  ModelSpec spec;
  std::unique_ptr<AnyModel> model;
  std::unique_ptr<AnyCache> good;
  std::unique_ptr<AnyCache> cache;
};

TEST(bad_input, a_token_outside_the_vocabulary_is_refused) {
  for (const std::string& name : architecture_names()) {
    Fixed fixed(name);
    for (const int64_t token : {int64_t{-1}, int64_t{23}, int64_t{1} << 40}) {
      EXPECT_NE(fixed.refusal({nullptr, {3, token}, {}})
                    .find("expected ids from 0 to 22, got " + std::to_string(token)),
                std::string::npos);
    }
  }
}

TEST(bad_input, an_output_past_the_end_or_before_the_start_is_refused) {
  for (const std::string& name : architecture_names()) {
    Fixed fixed(name);
    for (const int64_t position : {int64_t{-1}, int64_t{0}, int64_t{7}, int64_t{1} << 40}) {
      EXPECT_NE(fixed.refusal({nullptr, {3, 4}, {5, position}}).find("to 6, got"),
                std::string::npos);
    }
  }
}

TEST(bad_input, only_softmax_copies_may_look_back) {
  const auto earliest = [](const std::string& name) -> int64_t {
    Fixed fixed(name);
    for (int64_t position = 4; position >= 1; --position) {
      try {
        const auto fork = fixed.cache->fork();
        run(*fixed.model, *fork, {3, 4}, {position});
      } catch (const InputError&) {
        return position + 1;
      }
    }
    return 1;
  };
  EXPECT_EQ(earliest("orthros"), 1);
  EXPECT_EQ(earliest("orthros-noso"), 1);
  EXPECT_EQ(earliest("orthros-h"), 4);  // the state after the last token still stands
  for (const char* single :
       {"transformer", "swa", "retnet", "gla", "gdn", "yoco", "linear-hybrid"}) {
    EXPECT_EQ(earliest(single), 5) << single;
  }
}

TEST(bad_input, an_empty_cache_has_no_position_to_predict_from) {
  for (const std::string& name : architecture_names()) {
    const ModelSpec spec = fixed_spec(name, 4);
    const auto model = double_subject().load(spec, fixed_weights(spec));
    const auto cache = model->new_cache();
    EXPECT_NE(refusal_of([&] { return run(*model, *cache, {}, {1}); }), "") << name;
  }
}

TEST(bad_input, documents_need_an_id_a_token) {
  Fixed fixed("orthros");
  EXPECT_NE(fixed.refusal({nullptr, {3, 4}, {}, {1}}).find("expected one id for each of 2 tokens"),
            std::string::npos);
}

TEST(truncate, refuses_lengths_that_the_cache_does_not_have) {
  Fixed fixed("orthros");
  for (const int64_t length : {-1, 5}) {
    EXPECT_NE(refusal_of([&] {
                fixed.cache->truncate(length);
                return 0;
              }).find("expected 0 to 4"),
              std::string::npos);
  }
  EXPECT_EQ(fixed.cache->length(), 4);
}

TEST(truncate, cannot_turn_a_recurrent_state_back) {
  for (const char* name : {"gdn", "linear-hybrid", "orthros-h", "yoco-retention"}) {
    Fixed fixed(name);
    const Memory before = fixed.cache->memory();
    EXPECT_NE(refusal_of([&] {
                fixed.cache->truncate(3);
                return 0;
              }).find("a recurrent state cannot be turned back"),
              std::string::npos);
    EXPECT_EQ(fixed.cache->length(), 4);
    EXPECT_TRUE(same_bits(fixed.cache->memory(), before)) << name;
    fixed.cache->truncate(4);
    EXPECT_TRUE(same_bits(fixed.cache->memory(), before)) << name;
  }
}

}  // namespace
}  // namespace orthros
