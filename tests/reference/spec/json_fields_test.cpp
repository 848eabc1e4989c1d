// JSON text and values from strangers: depth, length, whole numbers, and one readable line.
#include "reference/spec/json_fields.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "tests/reference/spec/configs.hpp"
#include "tests/reference/spec/refusal.hpp"

namespace orthros {
namespace {

TEST(json_fields, text_is_at_most_64_levels_deep) {
  const auto nested = [](int levels) {
    const auto count = static_cast<size_t>(levels);
    return std::string(count, '[') + std::string(count, ']');
  };
  EXPECT_EQ(parse_json(nested(64), "f").size(), 1u);
  for (int levels : {66, 1'000, 1'000'000}) {
    EXPECT_NE(refusal_of([&] { return parse_json(nested(levels), "f"); }).find("f: expected JSON"),
              std::string::npos)
        << levels;
  }
  refusal_of([&] { return parse_json(std::string(1'000'000, '['), "f"); });
}

TEST(json_fields, whole_numbers_fit_64_bits_and_have_no_point) {
  EXPECT_EQ(whole_number(Json::parse("9223372036854775807")), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(whole_number(Json::parse("-9223372036854775808")), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(whole_number(Json::parse("-0")), 0);
  for (const char* bad : {"9223372036854775808", "18446744073709551615", "-9223372036854775809",
                          "1.0", "1e2", "\"1\"", "true", "null", "[1]", "{}"}) {
    EXPECT_EQ(whole_number(Json::parse(bad)), std::nullopt) << bad;
  }
}

TEST(json_fields, values_are_shown_short) {
  EXPECT_EQ(shown(Json("gelu")), "\"gelu\"");
  EXPECT_EQ(shown(Json::parse("[1,2]")), "[1,2]");
  EXPECT_EQ(shown(Json(std::vector<int>(17, 1))), "a long list");
  EXPECT_EQ(shown(Json::parse("[[1]]")), "a long list");
  EXPECT_EQ(shown(Json::parse("{\"a\":{}}")), "a large object");
  EXPECT_EQ(shown(Json(std::string(1'000, 'x'))).size(), 63u);
  // Cut between characters: 29 of two bytes each after the quote, 59 bytes in all.
  std::string letters;
  for (int i = 0; i < 100; ++i) letters += "\xc3\xa9";
  EXPECT_EQ(shown(Json(letters)), '"' + letters.substr(0, 58) + "...");
  shown(Json("\xff\xfe"));  // no UTF-8, and no exception
}

// Whatever stands in the three parts, the message is one line that starts with where it was.
RC_GTEST_PROP(input_error, is_one_line_of_printable_text, ()) {
  const auto any = rc::gen::container<std::string>(
      rc::gen::oneOf(rc::gen::arbitrary<char>(), rc::gen::element('\n', '\r', '\0', '\x1b')));
  const std::string field = *any;
  const std::string detail = *any;
  const InputError error("file", field, detail);
  const std::string line = error.what();
  RC_ASSERT(line.rfind("file: ", 0) == 0);
  for (char c : line) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
}

}  // namespace
}  // namespace orthros
