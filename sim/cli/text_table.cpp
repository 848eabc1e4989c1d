// Lays out tables and writes numbers for people.
#include "sim/cli/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace orthros::cli {

std::string TextTable::text() const {
  std::vector<size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += i == 0 ? fmt::format("{:<{}}", row[i], widths[i])
                     : fmt::format("  {:>{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string TextTable::csv() const {
  std::string text;
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += ',';
      const bool plain = row[i].find_first_of(",\"\n") == std::string::npos;
      if (plain) {
        text += row[i];
        continue;
      }
      text += '"';
      for (char c : row[i]) text += c == '"' ? std::string("\"\"") : std::string(1, c);
      text += '"';
    }
    text += '\n';
  }
  return text;
}

std::string seconds_text(double seconds) {
  if (seconds == 0.0) return "0 s";
  if (seconds >= 1.0) return fmt::format("{:.4g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.4g} ms", seconds * 1e3);
  return fmt::format("{:.4g} us", seconds * 1e6);
}

std::string flops_text(double flops) {
  return fmt::format("{:.4g}", flops);
}

std::string bytes_text(double bytes) {
  constexpr double gibi = 1024.0 * 1024.0 * 1024.0;
  constexpr double giga = 1e9;
  return fmt::format("{:.2f} GiB ({:.2f} GB)", bytes / gibi, bytes / giga);
}

std::string percent_text(double fraction) {
  return fmt::format("{:+.1f} %", 100.0 * fraction);
}

}  // namespace orthros::cli
