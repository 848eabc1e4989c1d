// A table for people: columns aligned, numbers to the right.
#pragma once

#include <string>
#include <vector>

namespace orthros::cli {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  // As many cells as the header has.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;  // for a terminal
  std::string csv() const;   // RFC 4180 with \n
  // The header first.
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Significant digits, never exponents for sizes people read: 77.25, 0.0121.
std::string seconds_text(double seconds);
std::string flops_text(double flops);       // 1.38e+16
std::string bytes_text(double bytes);       // 18.0 GiB (19.3 GB)
std::string percent_text(double fraction);  // +1.2 %

}  // namespace orthros::cli
