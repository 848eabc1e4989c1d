// Properties: sentences about a Subject, checked over generated shapes, seeds and schedules.
#pragma once

#include <string>
#include <vector>

#include "tests/support/subject.hpp"

namespace orthros {

// Which scalars a property is checked in: those about bits in every one; those with a tolerance,
// or that need a small influence to survive rounding, in double alone.
enum class Scalars { every, double_only };

struct Property {
  std::string name;
  void (*holds)(const Subject& subject);  // draws with *rc::gen, says with RC_ASSERT
  Scalars scalars;
};

// Every property of this program, in no order.
const std::vector<Property>& all_properties();
bool register_property(Property property);

// What is known after trying a property `cases` times (RC_PARAMS="max_success=N" makes them N/100
// times as many).
struct Verdict {
  bool holds = false;
  std::string message;  // the counterexample
};
Verdict try_property(const Property& property, const Subject& subject, int cases, bool shrink);

// Fails the current test where the property fails in one of its scalars, tried `cases` times in
// double and a fifth of that in each other.
void expect_property(const Property& property, int cases = 300);

}  // namespace orthros

// Defines a property and the test of its name: ORTHROS_PROPERTY(sentence, every) { body }, where
// `subject` is what the sentence is said of.
#define ORTHROS_PROPERTY(sentence, which)                                               \
  static void sentence(const orthros::Subject& subject);                                \
  static const orthros::Property sentence##_property = {#sentence, sentence,            \
                                                        orthros::Scalars::which};       \
  static const bool sentence##_known = orthros::register_property(sentence##_property); \
  TEST(property, sentence) {                                                            \
    ASSERT_TRUE(sentence##_known);                                                      \
    orthros::expect_property(sentence##_property);                                      \
  }                                                                                     \
  static void sentence(const orthros::Subject& subject)
