// The one way in which bad input is reported.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace orthros {

// Text of at most `most` bytes and "..." where it was longer, cut between UTF-8 characters.
std::string shortened(std::string_view text, size_t most);

// Bad input from a file, an option or a request: what() is one line, "where: field: detail".
// `where` is the file's path or the option's name, `field` the JSON field, tensor or row inside it
// (may be empty), `detail` what was expected and what was found. Programs print it to stderr and
// exit with 2, having written nothing.
class InputError : public std::runtime_error {
 public:
  InputError(std::string_view where, std::string_view field, std::string_view detail);
};

}  // namespace orthros
