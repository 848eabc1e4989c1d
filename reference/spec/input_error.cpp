// Builds the one line of an InputError.
#include "reference/spec/input_error.hpp"

namespace orthros {
namespace {

// A stranger's file may put line breaks into a name; the message stays one line all the same.
std::string one_line(std::string_view where, std::string_view field, std::string_view detail) {
  std::string line(where);
  if (!field.empty()) line.append(": ").append(field);
  line.append(": ").append(detail);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return line;
}

}  // namespace

InputError::InputError(std::string_view where, std::string_view field, std::string_view detail)
    : std::runtime_error(one_line(where, field, detail)) {}

}  // namespace orthros
