// Builds the one line of an InputError.
#include "reference/spec/input_error.hpp"

namespace orthros {

std::string shortened(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return std::string(text.substr(0, most)) + "...";
}

namespace {

// A stranger's file may put line breaks into a name, or a megabyte; the message stays one readable
// line all the same.
std::string one_line(std::string_view where, std::string_view field, std::string_view detail) {
  std::string line(where);
  if (!field.empty()) line.append(": ").append(shortened(field, 200));
  line.append(": ").append(shortened(detail, 600));
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return line;
}

}  // namespace

InputError::InputError(std::string_view where, std::string_view field, std::string_view detail)
    : std::runtime_error(one_line(where, field, detail)) {}

}  // namespace orthros
