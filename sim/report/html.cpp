// Escapes text for HTML.
#include "sim/report/html.hpp"

#include <cctype>

namespace orthros::report {

std::string escape_html(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string script_json(const nlohmann::ordered_json& json) {
  constexpr int on_one_line = -1;
  const std::string text =
      json.dump(on_one_line, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string script_text(std::string_view program) {
  const auto begins = [&](size_t at, std::string_view what) {
    if (program.size() - at < what.size()) return false;
    for (size_t i = 0; i < what.size(); ++i) {
      if (std::tolower(static_cast<unsigned char>(program[at + i])) != what[i]) return false;
    }
    return true;
  };
  std::string escaped;
  escaped.reserve(program.size());
  for (size_t i = 0; i < program.size(); ++i) {
    escaped += program[i];
    if (program[i] == '<' && (begins(i, "</script") || begins(i, "<!--"))) escaped += '\\';
  }
  return escaped;
}

}  // namespace orthros::report
