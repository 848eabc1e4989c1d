// Tests of the check's cases: valid, and every edge comes up.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cuda/check/named_cases.hpp"
#include "cuda/check/promises.hpp"
#include "cuda/check/suite.hpp"
#include "reference/spec/architecture.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {
namespace {

std::vector<CheckCase> random_ones(Suite suite, uint64_t seed) {
  std::vector<CheckCase> cases;
  for (int64_t i = 0; i < random_cases(suite); ++i) cases.push_back(random_case(suite, seed, i));
  return cases;
}

const SoftmaxAttention& mixer_of(const CheckCase& check_case) {
  return std::get<SoftmaxAttention>(check_case.spec.layers.front().mixer);
}

void expect_sound(const CheckCase& check_case) {
  EXPECT_NO_THROW(validate(check_case.spec)) << check_case.name;
  EXPECT_NO_THROW(require_runnable(check_case.spec)) << check_case.name;
  ASSERT_FALSE(check_case.sequences.empty());
  const EngineLimits limits = limits_of(check_case);
  for (const SequencePlan& plan : check_case.sequences) {
    EXPECT_GE(plan.prompt, 1) << check_case.name;
    EXPECT_LE(plan.prompt, plan.length());
    EXPECT_LE(plan.length(), limits.context);
    EXPECT_TRUE(std::is_sorted(plan.outputs.begin(), plan.outputs.end()));
    for (int64_t t = plan.prompt; t <= plan.length(); ++t) {
      EXPECT_TRUE(std::binary_search(plan.outputs.begin(), plan.outputs.end(), t))
          << check_case.name << " does not predict at " << t;
    }
    for (const int64_t token : plan.tokens) {
      EXPECT_TRUE(token >= 0 && token < check_case.spec.vocab);
    }
  }
  EXPECT_GE(limits.chunk, limits.sequences);
  EXPECT_GE(limits.outputs, limits.sequences);
  EXPECT_FALSE(description(check_case).empty());
}

class check_cases : public testing::TestWithParam<Suite> {};

TEST_P(check_cases, are_sound_under_names_of_their_own) {
  CheckRequest request;
  request.suite = GetParam();
  request.goldens = std::string(ORTHROS_TEST_DATA) + "/goldens";
  std::set<std::string> names;
  for (const CheckCase& each : suite_cases(request)) {
    expect_sound(each);
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
  }
  for (const char* name : {"case-10", "case-11", "case-12", "case-13", "case-14", "case-15",
                           "golden-orthros_tiny", "random-0"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

// Whatever the seed, since lists are dealt whole. (A window dealt to a Transformer is not used.)
TEST_P(check_cases, random_ones_hold_every_width_group_window_length_and_architecture) {
  for (const uint64_t seed : {1U, 2U, 99U}) {
    std::set<int64_t> widths, groups, windows, prompts, ffns, hiddens;
    std::set<std::string> architectures;
    std::set<bool> tied, qk_norm, llama3, before, ragged, chunk_of_one, passes;
    for (const CheckCase& each : random_ones(GetParam(), seed)) {
      const SoftmaxAttention& mixer = mixer_of(each);
      widths.insert(mixer.head_width);
      groups.insert(mixer.query_heads / mixer.kv_heads);
      if (mixer.window) windows.insert(*mixer.window);
      for (const SequencePlan& plan : each.sequences) prompts.insert(plan.prompt);
      ffns.insert(each.spec.layers[0].ffn.width);
      hiddens.insert(each.spec.hidden);
      architectures.insert(architecture_of(each.spec));
      tied.insert(each.spec.tied_embeddings);
      qk_norm.insert(mixer.qk_norm);
      llama3.insert(mixer.rope->scaling == RopeScaling::llama3);
      before.insert(mixer.scale_offset == ScaleOffset::before_qk_norm);
      ragged.insert(each.sequences.size() > 1);
      chunk_of_one.insert(std::count(each.chunks.begin(), each.chunks.end(), 1) > 0);
      passes.insert(each.pass_tokens > 0);
    }
    EXPECT_EQ(widths, (std::set<int64_t>{8, 16, 24, 40, 64, 128, 256}));
    for (const int64_t group : {1, 2, 3, 4, 5, 7, 8, 12, 16}) EXPECT_TRUE(groups.contains(group));
    EXPECT_GE(windows.size(), 10U);
    for (const int64_t length : {1, 127, 128, 129, 511, 512, 513, 5, 10, 3, 4}) {
      EXPECT_TRUE(prompts.contains(length)) << length;
    }
    EXPECT_TRUE(hiddens.contains(40)) << "a product whose length is no multiple of 16";
    EXPECT_EQ(architectures,
              (std::set<std::string>{"orthros", "orthros-noso", "swa", "transformer"}));
    for (const auto& both : {tied, qk_norm, llama3, before, ragged, chunk_of_one, passes}) {
      EXPECT_EQ(both.size(), 2U);
    }
    if (GetParam() != Suite::full) continue;
    for (const int64_t length : {4095, 4096, 4097}) EXPECT_TRUE(prompts.contains(length));
  }
}

INSTANTIATE_TEST_SUITE_P(suites, check_cases, testing::Values(Suite::quick, Suite::full),
                         [](const auto& each) {
                           return each.param == Suite::quick ? "quick" : "full";
                         });

TEST(dealer, deals_each_member_once_a_round) {
  const std::vector<int> list = {1, 2, 3, 4, 5, 6, 7};
  std::set<std::vector<int>> orders;
  for (int64_t round = 0; round < 4; ++round) {
    std::vector<int> dealt;
    for (int64_t i = 0; i < 7; ++i) dealt.push_back(Dealer(5, round * 7 + i).of("list", list));
    orders.insert(dealt);
    std::sort(dealt.begin(), dealt.end());
    EXPECT_EQ(dealt, list);
  }
  EXPECT_GT(orders.size(), 1U);
}

TEST(check_only, takes_the_case_of_the_name_or_those_that_begin_so_or_refuses) {
  CheckRequest request;
  request.only = "case-99";
  EXPECT_THROW(suite_cases(request), InputError);
  request.only = "case-1";
  EXPECT_EQ(suite_cases(request).size(), 6U);
  request.only = "random-1";  // and not random-10
  EXPECT_EQ(suite_cases(request).size(), 1U);
}

TEST(offsets_case, the_second_sequence_lies_past_2_to_the_31) {
  CheckRequest request;
  request.only = "case-12";
  const std::vector<CheckCase> cases = suite_cases(request);
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_EQ(cases[0].sequences.size(), 2U);
  EXPECT_GT(limits_of(cases[0]).sequence_stride, int64_t{1} << 31);
}

}  // namespace
}  // namespace orthros::cuda
