// quoted_text: a stranger's text made fit for one line of a message.
#pragma once

#include <string>
#include <string_view>

namespace orthros {

// The text in double quotes, cut after 80 bytes at a UTF-8 boundary.
inline std::string quoted_text(std::string_view text) {
  constexpr size_t longest = 80;
  if (text.size() <= longest) return '"' + std::string(text) + '"';
  size_t end = longest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return '"' + std::string(text.substr(0, end)) + "...\"";
}

}  // namespace orthros
