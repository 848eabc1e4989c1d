// Scans lists of numbers.
#include "reference/cli/number_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <memory>
#include <system_error>

#include "reference/spec/input_error.hpp"

namespace orthros::cli {
namespace {

constexpr std::string_view spaces = " \t\r\n";

class NumberScanner {
 public:
  NumberScanner(const std::string& where, bool lines, std::string_view text, const NumberKind& kind)
      : where_(where), lines_(lines), text_(text), kind_(kind) {}

  std::vector<int64_t> scan() {
    const bool array = skip_spaces() == '[';
    if (array) ++at_;
    std::vector<int64_t> numbers;
    skip_spaces();
    while (true) {
      numbers.push_back(number());
      const char next = skip_spaces();
      if (next == ',') {
        ++at_;
        skip_spaces();
      } else if (array ? next == ']' : at_ == text_.size()) {
        break;
      } else if (array) {
        fail(fmt::format("expected ',' or ']', got '{}'", word()));
      }
    }
    if (!array) return numbers;
    ++at_;
    skip_spaces();
    if (at_ != text_.size()) fail(fmt::format("expected nothing behind ']', got '{}'", word()));
    return numbers;
  }

 private:
  // The next character that is no space; 0 at the end.
  char skip_spaces() {
    at_ = std::min(text_.find_first_not_of(spaces, at_), text_.size());
    return at_ == text_.size() ? '\0' : text_[at_];
  }

  // What stands here, for reading or for showing.
  std::string_view word() const {
    const size_t end = std::min(text_.find_first_of(" \t\r\n,[]", at_), text_.size());
    return text_.substr(at_, std::max<size_t>(end - at_, at_ < text_.size() ? 1 : 0));
  }

  int64_t number() {
    const std::string_view text = word();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (!whole || value < kind_.least || value > kind_.most) {
      fail(fmt::format("expected {} from {} to {}, got '{}'", kind_.plural, kind_.least, kind_.most,
                       text));
    }
    at_ += text.size();
    return value;
  }

  [[noreturn]] void fail(const std::string& detail) const {
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<int64_t>(at_), '\n');
    throw InputError(where_, lines_ ? fmt::format("line {}", line) : "", detail);
  }

  const std::string& where_;
  bool lines_;
  std::string_view text_;
  const NumberKind& kind_;
  size_t at_ = 0;
};

std::string file_text(const std::string& path) {
  constexpr size_t most = size_t{1} << 30;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  std::string text;
  char block[1 << 16];
  errno = file ? 0 : errno;
  while (file != nullptr && text.size() <= most) {
    const size_t got = std::fread(block, 1, sizeof block, file.get());
    text.append(block, got);
    if (got < sizeof block) break;
  }
  if (file == nullptr || std::ferror(file.get()) != 0) {
    throw InputError(
        path, "",
        fmt::format("expected a readable file, got: {}", std::generic_category().message(errno)));
  }
  if (text.size() > most) throw InputError(path, "", "expected at most 1 GiB, got more");
  return text;
}

}  // namespace

std::vector<int64_t> parse_numbers(const std::string& where, bool lines, std::string_view text,
                                   const NumberKind& kind) {
  return NumberScanner(where, lines, text, kind).scan();
}

std::vector<int64_t> read_numbers(const std::string& option, const std::string& value,
                                  const NumberKind& kind) {
  if (!value.starts_with('@')) return parse_numbers(option, false, value, kind);
  const std::string path = value.substr(1);
  return parse_numbers(path, true, file_text(path), kind);
}

}  // namespace orthros::cli
