// CsvRows: walks a comma-separated text row by row without copying it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orthros {

// Lines of a text: LF or CRLF, the last perhaps without either; empty ones are skipped and a BOM at
// the start is dropped. Rows are numbered from 1 as an editor does.
class Lines {
 public:
  explicit Lines(std::string_view text);
  bool next();
  std::string_view line() const { return line_; }
  int64_t row() const { return row_; }

 private:
  std::string_view rest_, line_;
  int64_t row_ = 0;
};

// A table for traces of millions of rows: views into the text, numbers by position of their column.
// The header is read by the constructor. Quoted cells may hold commas, not line breaks. Errors are
// InputError "file: row N: column: expected ...". Text and file name outlive it.
class CsvRows {
 public:
  CsvRows(std::string_view text, const std::string& file);

  // Where a column of this name stands; nothing where it is absent. Two of one name are an error.
  std::optional<size_t> find(std::string_view name) const;
  // The next row; it must have as many cells as the header.
  bool next();
  int64_t row() const { return lines_.row(); }
  std::string_view text(size_t column) const { return cells_[column]; }
  double number(size_t column) const;                                      // finite
  int64_t whole(size_t column) const;                                      // "12" or "12.0"
  [[noreturn]] void fail(size_t column, std::string_view expected) const;  // ..., got the cell

 private:
  void split();

  Lines lines_;
  const std::string& file_;
  std::vector<std::string_view> header_, cells_;
};

}  // namespace orthros
