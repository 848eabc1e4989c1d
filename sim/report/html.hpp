// Text made safe inside an HTML page.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace orthros::report {

// For element content and double-quoted attributes: & < > " ' become character references.
std::string escape_html(std::string_view text);

// JSON for a <script type="application/json">: every < is written \u003c, so that no text in it can
// end the element or open a comment. Bytes that are not UTF-8 become U+FFFD.
std::string script_json(const nlohmann::ordered_json& json);

// A program for a <script>: a "</script" or "<!--" inside its strings, patterns and comments is
// written with a backslash that JavaScript ignores.
std::string script_text(std::string_view program);

}  // namespace orthros::report
