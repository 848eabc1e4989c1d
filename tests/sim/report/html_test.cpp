// What stands in a page as text, as JSON and as a program stays inside its element.
#include "sim/report/html.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orthros::report {
namespace {

// What a browser reads back from the character references that we write.
std::string unescaped(std::string text) {
  const std::pair<const char*, const char*> references[] = {
      {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}};
  for (const auto& [reference, character] : references) {
    for (size_t at = 0; (at = text.find(reference, at)) != std::string::npos; ++at) {
      text.replace(at, std::string(reference).size(), character);
    }
  }
  return text;
}

TEST(report_html, markup_in_a_name_is_written_as_character_references) {
  EXPECT_EQ(escape_html("</td><script>alert(\"1\" & '2')</script>"),
            "&lt;/td&gt;&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;");
}

RC_GTEST_PROP(report_html, escaped_text_holds_no_markup_and_reads_back_the_same, ()) {
  const auto length = *rc::gen::inRange<size_t>(0, 40);
  const auto text = *rc::gen::container<std::string>(
      length, rc::gen::oneOf(rc::gen::elementOf(std::string("&<>\"'lgtquoamp;#39")),
                             rc::gen::character<char>()));
  const std::string escaped = escape_html(text);
  RC_ASSERT(escaped.find_first_of("<>\"'") == std::string::npos);
  RC_ASSERT(unescaped(escaped) == text);
}

TEST(report_html, json_in_a_script_cannot_end_it_and_parses_to_the_same) {
  const nlohmann::ordered_json json = {{"</script>", "<!-- <script> \xE2\x80\xA8 \" \\ "}};
  const std::string text = script_json(json);
  EXPECT_EQ(text.find('<'), std::string::npos);
  EXPECT_EQ(nlohmann::ordered_json::parse(text), json);
}

TEST(report_html, json_with_bytes_that_are_not_utf8_still_parses) {
  const std::string text = script_json({{"name", "model \xff\xfe"}});
  EXPECT_EQ(nlohmann::json::parse(text)["name"], "model \xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(report_html, a_program_cannot_end_its_script) {
  EXPECT_EQ(script_text("a < b; '</ScRipt>'; '<!-- x'; '</p>'"),
            "a < b; '<\\/ScRipt>'; '<\\!-- x'; '</p>'");
  EXPECT_EQ(script_text("<"), "<");
  EXPECT_EQ(script_text(""), "");
}

}  // namespace
}  // namespace orthros::report
