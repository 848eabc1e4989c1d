// Shows that the properties can fail: each seeded fault is caught by properties known by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "tests/support/property.hpp"

namespace orthros {
namespace {

constexpr int cases = 100;

// Tries every property on a mutant, prints those that fail, and expects `named` among them.
void expect_caught(Fault fault, const std::set<std::string>& named) {
  const Subject subject = mutant(fault);
  std::set<std::string> caught_by;
  for (const Property& property : all_properties()) {
    if (!try_property(property, subject, cases, false).holds) caught_by.insert(property.name);
  }
  std::printf("%s is caught by\n", subject.name.c_str());
  for (const std::string& name : caught_by) std::printf("  %s\n", name.c_str());
  for (const std::string& name : named) {
    EXPECT_TRUE(caught_by.contains(name)) << subject.name << " passes " << name;
  }
}

TEST(mutation, window_off_by_one_is_caught) {
  expect_caught(Fault::window_off_by_one,
                {"attention_is_equations_4_and_5",
                 "base_state_after_l_layers_ignores_tokens_before_t_minus_l_windows",
                 "a_window_of_one_makes_base_attention_the_tokens_own_value"});
}

TEST(mutation, copy_writes_cache_is_caught) {
  expect_caught(Fault::copy_writes_cache, {"base_caches_equal_for_any_two_output_sets",
                                           "an_empty_output_set_gives_pretrainings_cache"});
}

TEST(mutation, index_as_position_is_caught) {
  expect_caught(Fault::index_as_position,
                {"duplicating_or_reordering_copies_duplicates_or_permutes_logits",
                 "prefill_and_n_decodes_equal_one_forward"});
}

TEST(mutation, output_reads_window_is_caught) {
  expect_caught(Fault::output_reads_window,
                {"attention_is_equations_4_and_5", "the_first_token_does_change_the_last_logits"});
}

TEST(mutation, scale_offset_swapped_is_caught) {
  expect_caught(Fault::scale_offset_swapped,
                {"the_output_streams_scale_offset_and_the_head_change_no_cache"});
}

}  // namespace
}  // namespace orthros
