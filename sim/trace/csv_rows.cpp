// Splits lines and cells, reads numbers.
#include "sim/trace/csv_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "reference/spec/input_error.hpp"

namespace orthros {
namespace {

constexpr size_t shown_characters = 40;

std::string_view trimmed(std::string_view cell) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!cell.empty() && blank(cell.front())) cell.remove_prefix(1);
  while (!cell.empty() && blank(cell.back())) cell.remove_suffix(1);
  return cell;
}

// Text that may hold anything, for a message of one line.
std::string printable(std::string_view text) {
  std::string shown(text.substr(0, shown_characters));
  for (char& c : shown) {
    if (c < ' ' || c > '~') c = '?';
  }
  return shown;
}

}  // namespace

Lines::Lines(std::string_view text) : rest_(text) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (rest_.starts_with(byte_order_mark)) rest_.remove_prefix(byte_order_mark.size());
}

bool Lines::next() {
  while (!rest_.empty()) {
    const size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++row_;
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    if (!trimmed(line_).empty()) return true;
  }
  return false;
}

CsvRows::CsvRows(std::string_view text, const std::string& file) : lines_(text), file_(file) {
  if (!lines_.next()) throw InputError(file_, "", "expected a header line");
  split();
  header_ = cells_;
}

void CsvRows::split() {
  cells_.clear();
  std::string_view line = lines_.line();
  while (true) {
    size_t comma = 0;
    bool quoted = false;
    while (comma < line.size() && (quoted || line[comma] != ',')) {
      if (line[comma] == '"') quoted = !quoted;
      ++comma;
    }
    if (quoted) {
      throw InputError(file_, fmt::format("row {}", row()), "expected a closing quote");
    }
    std::string_view cell = trimmed(line.substr(0, comma));
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') {
      cell = trimmed(cell.substr(1, cell.size() - 2));
    }
    cells_.push_back(cell);
    if (comma == line.size()) return;
    line.remove_prefix(comma + 1);
  }
}

std::optional<size_t> CsvRows::find(std::string_view name) const {
  const auto at = std::find(header_.begin(), header_.end(), name);
  if (at == header_.end()) return std::nullopt;
  if (std::find(at + 1, header_.end(), name) != header_.end()) {
    throw InputError(file_, fmt::format("row 1: {}", name), "expected one column of this name");
  }
  return static_cast<size_t>(at - header_.begin());
}

bool CsvRows::next() {
  if (!lines_.next()) return false;
  split();
  if (cells_.size() != header_.size()) {
    throw InputError(
        file_, fmt::format("row {}", row()),
        fmt::format("expected {} cells as in the header, got {}", header_.size(), cells_.size()));
  }
  return true;
}

double CsvRows::number(size_t column) const {
  const std::string_view cell = cells_[column];
  double value = 0.0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc{} || end != cell.data() + cell.size() || !std::isfinite(value)) {
    fail(column, "a finite number");
  }
  return value;
}

int64_t CsvRows::whole(size_t column) const {
  const std::string_view cell = cells_[column];
  int64_t value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  std::string_view rest(end, static_cast<size_t>(cell.data() + cell.size() - end));
  if (rest.starts_with('.')) {  // as programs that keep lengths as floats write them
    rest.remove_prefix(1);
    while (rest.starts_with('0')) rest.remove_prefix(1);
  }
  if (error != std::errc{} || !rest.empty()) fail(column, "a whole number");
  return value;
}

void CsvRows::fail(size_t column, std::string_view expected) const {
  const std::string_view cell = cells_[column];
  const std::string got = cell.empty() ? "nothing" : fmt::format("'{}'", printable(cell));
  throw InputError(file_, fmt::format("row {}: {}", row(), printable(header_[column])),
                   fmt::format("expected {}, got {}", expected, got));
}

}  // namespace orthros
