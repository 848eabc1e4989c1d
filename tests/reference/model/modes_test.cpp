// The four modes and greedy generation over forward.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/model/load_model.hpp"
#include "reference/model/modes.hpp"
#include "tests/reference/model/fixed_model.hpp"
#include "tests/reference/spec/refusal.hpp"

namespace orthros {
namespace {

struct Fixed {
  ModelSpec spec = fixed_spec("orthros", 4);
  Model<double> model = load_model<double>(spec, fixed_weights(spec));
};

TEST(cross_entropy, is_log_sum_exp_less_the_targets_logit) {
  Matrix<double> row(1, 3);
  row << std::log(1.0), std::log(2.0), std::log(5.0);
  // Three exps and a log, each within an ulp of values below 8.
  EXPECT_NEAR(cross_entropy<double>(row, 1), std::log(4.0), 16 * 0x1p-52);
  row << 1e4, 1e4, -1e4;
  EXPECT_NEAR(cross_entropy<double>(row, 0), std::log(2.0), 1e4 * 0x1p-52);
}

TEST(loss, pretraining_predicts_each_next_token_and_the_end) {
  Fixed fixed;
  const auto tokens = fixed_tokens(6);
  const Loss open = pretrain<double>(fixed.model, tokens, std::nullopt);
  const Loss ended = pretrain<double>(fixed.model, tokens, 2);
  EXPECT_EQ(open.positions, (std::vector<int64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(ended.positions, (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  Cache<double> cache(fixed.spec);
  const Logits<double> logits = forward<double>(fixed.model, cache, tokens, ended.positions);
  for (int64_t i = 0; i < 6; ++i) {
    const int64_t target = i < 5 ? tokens[static_cast<size_t>(i + 1)] : 2;
    const double each = cross_entropy<double>(logits.row(i), target);
    EXPECT_EQ(ended.each[static_cast<size_t>(i)], each);
    if (i == 5) continue;
    EXPECT_EQ(open.each[static_cast<size_t>(i)], each);
  }
}

TEST(loss, fine_tuning_predicts_the_answer_and_the_end) {
  Fixed fixed;
  const auto tokens = fixed_tokens(7);
  EXPECT_EQ(fine_tune<double>(fixed.model, tokens, 4, 0).positions,
            (std::vector<int64_t>{4, 5, 6, 7}));  // R = 3: T_out = R + 1
  EXPECT_EQ(fine_tune<double>(fixed.model, tokens, 4, std::nullopt).positions,
            (std::vector<int64_t>{4, 5, 6}));
}

TEST(loss, refuses_what_predicts_nothing) {
  Fixed fixed;
  const auto one = fixed_tokens(1);
  const auto tokens = fixed_tokens(5);
  const auto refused = [&](auto&& call) { return !refusal_of(call).empty(); };
  EXPECT_TRUE(refused([&] { return pretrain<double>(fixed.model, one, std::nullopt); }));
  EXPECT_TRUE(refused([&] { return pretrain<double>(fixed.model, {}, 2); }));
  EXPECT_TRUE(refused([&] { return fine_tune<double>(fixed.model, tokens, 0, 2); }));
  EXPECT_TRUE(refused([&] { return fine_tune<double>(fixed.model, tokens, 6, 2); }));
  EXPECT_TRUE(refused([&] { return fine_tune<double>(fixed.model, tokens, 5, std::nullopt); }));
  EXPECT_TRUE(refused([&] { return loss_at<double>(fixed.model, tokens, {5}, std::nullopt); }));
}

TEST(loss, refuses_an_end_token_outside_the_vocabulary) {
  Fixed fixed;
  const auto tokens = fixed_tokens(5);
  for (const int64_t end : {int64_t{-1}, int64_t{23}, int64_t{1} << 40}) {
    EXPECT_NE(refusal_of([&] { return pretrain<double>(fixed.model, tokens, end); }), "");
  }
}

TEST(prefill, in_chunks_equals_one_shot) {
  Fixed fixed;
  const auto prompt = fixed_tokens(11);
  Cache<double> whole(fixed.spec);
  const Logits<double> expected = prefill<double>(fixed.model, whole, prompt);
  for (const int64_t chunk : {1, 4, 8, 10, 11, 12}) {
    Cache<double> cache(fixed.spec);
    EXPECT_EQ(prefill<double>(fixed.model, cache, prompt, chunk), expected);
    EXPECT_EQ(cache.length(), 11);
  }
}

TEST(forward_chunked, gives_every_output_in_the_order_asked_past_ones_too) {
  Fixed fixed;
  const auto first = fixed_tokens(3);
  const auto tokens = fixed_tokens(8, 4);
  const std::vector<int64_t> outputs = {11, 2, 5, 5, 4, 9};
  Cache<double> whole(fixed.spec);
  forward<double>(fixed.model, whole, first, {});
  Cache<double> cut = whole;
  EXPECT_EQ(forward_chunked<double>(fixed.model, cut, tokens, outputs, 3),
            forward<double>(fixed.model, whole, tokens, outputs));
}

TEST(generate, takes_the_largest_logit_step_by_step) {
  Fixed fixed;
  auto tokens = fixed_tokens(5);
  Cache<double> cache(fixed.spec);
  const auto generated = generate<double>(fixed.model, cache, tokens, 6);
  ASSERT_EQ(generated.size(), 6u);
  for (const int64_t expected : generated) {
    Cache<double> fresh(fixed.spec);
    const Logits<double> logits = prefill<double>(fixed.model, fresh, tokens);
    EXPECT_EQ(argmax(logits, 0), expected);
    tokens.push_back(expected);
  }
}

TEST(generate, stops_at_any_of_the_end_tokens) {
  Fixed fixed;
  const auto prompt = fixed_tokens(5);
  Cache<double> free_cache(fixed.spec);
  const auto all = generate<double>(fixed.model, free_cache, prompt, 8);
  // The first token that is not a repetition of one before it, beyond the first.
  size_t at = 1;
  while (at < all.size() && std::count(all.begin(), all.begin() + static_cast<long>(at), all[at])) {
    ++at;
  }
  ASSERT_LT(at, all.size()) << "expected two different tokens among the first eight";
  int64_t unused = 0;
  while (std::count(all.begin(), all.end(), unused)) ++unused;
  fixed.model.spec.eos = {unused, all[at]};
  Cache<double> cache(fixed.spec);
  const auto stopped = generate<double>(fixed.model, cache, prompt, 8);
  EXPECT_EQ(stopped, std::vector<int64_t>(all.begin(), all.begin() + static_cast<long>(at) + 1));
}

TEST(generate, of_no_tokens_does_nothing) {
  Fixed fixed;
  Cache<double> cache(fixed.spec);
  EXPECT_TRUE(generate<double>(fixed.model, cache, fixed_tokens(3), 0).empty());
  EXPECT_EQ(cache.length(), 0);
}

TEST(argmax, takes_the_lowest_id_among_equals) {
  Matrix<double> logits(1, 4);
  logits << 1.0, 3.0, 3.0, 2.0;
  EXPECT_EQ(argmax(logits, 0), 1);
}

}  // namespace
}  // namespace orthros
