// Reads comma-separated tables with a header line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace orthros {

// A table in memory. Lines end in LF or CRLF, the last perhaps in nothing; cells may be quoted.
// Every row has as many cells as the header. At most 256 MiB. Errors name the file and the row
// (1-based, the header being row 1).
class CsvTable {
 public:
  static CsvTable read(const std::filesystem::path& path);

  size_t rows() const { return cells_.size(); }
  bool has(std::string_view column) const;
  const std::string& text(size_t row, std::string_view column) const;
  double number(size_t row, std::string_view column) const;    // finite
  int64_t integer(size_t row, std::string_view column) const;  // whole
  // Keeps the rows whose column reads exactly so.
  void keep_where(std::string_view column, std::string_view value);
  const std::string& file() const { return file_; }

 private:
  size_t index_of(std::string_view column) const;
  std::string file_;
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> cells_;
  std::vector<size_t> lines_;  // where each row stood
};

}  // namespace orthros
