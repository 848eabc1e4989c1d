// Parses comma-separated tables.
#include "sim/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>

#include "reference/spec/input_error.hpp"

namespace orthros {
namespace {

// The cells of one line; a quoted cell may hold commas and doubled quotes, not line breaks.
std::vector<std::string> split(const std::string& line, const std::string& file, size_t row) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  if (quoted) throw InputError(file, fmt::format("row {}", row), "expected a closing quote");
  return cells;
}

}  // namespace

CsvTable CsvTable::read(const std::filesystem::path& path) {
  constexpr std::uintmax_t most_bytes = std::uintmax_t{256} << 20;
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error || std::filesystem::is_directory(path)) {
    throw InputError(path.string(), "", "expected a readable CSV file");
  }
  if (size > most_bytes) throw InputError(path.string(), "", "expected at most 256 MiB");
  std::ifstream stream(path, std::ios::binary);
  CsvTable table;
  table.file_ = path.string();
  std::string line;
  for (size_t row = 1; std::getline(stream, line); ++row) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (row == 1 && line.rfind("\xEF\xBB\xBF", 0) == 0) line.erase(0, 3);
    if (line.empty()) continue;
    std::vector<std::string> cells = split(line, table.file_, row);
    if (table.header_.empty()) {
      table.header_ = std::move(cells);
      continue;
    }
    if (cells.size() != table.header_.size()) {
      throw InputError(table.file_, fmt::format("row {}", row),
                       fmt::format("expected {} cells as in the header, got {}",
                                   table.header_.size(), cells.size()));
    }
    table.cells_.push_back(std::move(cells));
    table.lines_.push_back(row);
  }
  if (table.header_.empty()) throw InputError(table.file_, "", "expected a header line");
  return table;
}

bool CsvTable::has(std::string_view column) const {
  return std::find(header_.begin(), header_.end(), column) != header_.end();
}

size_t CsvTable::index_of(std::string_view column) const {
  const auto at = std::find(header_.begin(), header_.end(), column);
  if (at == header_.end()) throw InputError(file_, column, "expected a column of this name");
  return static_cast<size_t>(at - header_.begin());
}

const std::string& CsvTable::text(size_t row, std::string_view column) const {
  return cells_[row][index_of(column)];
}

double CsvTable::number(size_t row, std::string_view column) const {
  const std::string& cell = text(row, column);
  double value = 0.0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc{} || end != cell.data() + cell.size() || !std::isfinite(value)) {
    throw InputError(file_, fmt::format("row {}: {}", lines_[row], column),
                     fmt::format("expected a finite number, got '{}'", cell));
  }
  return value;
}

int64_t CsvTable::integer(size_t row, std::string_view column) const {
  const std::string& cell = text(row, column);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc{} || end != cell.data() + cell.size()) {
    throw InputError(file_, fmt::format("row {}: {}", lines_[row], column),
                     fmt::format("expected a whole number, got '{}'", cell));
  }
  return value;
}

void CsvTable::keep_where(std::string_view column, std::string_view value) {
  const size_t index = index_of(column);
  size_t kept = 0;
  for (size_t row = 0; row < cells_.size(); ++row) {
    if (cells_[row][index] != value) continue;
    if (kept != row) {
      cells_[kept] = std::move(cells_[row]);
      lines_[kept] = lines_[row];
    }
    ++kept;
  }
  cells_.resize(kept);
  lines_.resize(kept);
}

}  // namespace orthros
