// Runs properties through RapidCheck, quietly.
#include "tests/support/property.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/detail/TestListenerAdapter.h>

#include <algorithm>
#include <sstream>

namespace orthros {
namespace {

std::vector<Property>& registry() {
  static std::vector<Property> properties;
  return properties;
}

}  // namespace

const std::vector<Property>& all_properties() {
  return registry();
}

bool register_property(Property property) {
  registry().push_back(std::move(property));
  return true;
}

Verdict try_property(const Property& property, const Subject& subject, int cases, bool shrink) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  constexpr int usual = 100;  // RapidCheck's own number of cases
  params.maxSuccess = std::max(1, cases * params.maxSuccess / usual);
  params.disableShrinking = !shrink;
  rc::detail::TestMetadata metadata;
  metadata.id = property.name + "/" + subject.name;
  metadata.description = metadata.id;
  rc::detail::TestListenerAdapter quiet;
  const auto result =
      rc::detail::checkTestable([&] { property.holds(subject); }, metadata, params, quiet);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  return {result.template is<rc::detail::SuccessResult>(), text.str()};
}

// The bits that a schedule may change are the same code in each scalar, so fewer cases show that
// rounding adds nothing of its own.
void expect_property(const Property& property, int cases) {
  for (const Subject& subject : every_subject()) {
    const bool wide = subject.name == double_subject().name;
    if (!wide && property.scalars == Scalars::double_only) continue;
    const Verdict verdict = try_property(property, subject, wide ? cases : (cases + 4) / 5, true);
    EXPECT_TRUE(verdict.holds) << "in " << subject.name << ":\n" << verdict.message;
  }
}

}  // namespace orthros
