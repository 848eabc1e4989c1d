// Writes pages where --html asks for them.
#include "sim/cli/html_option.hpp"

#include <span>
#include <string_view>

#include "sim/report/chart_library.hpp"

namespace orthros::cli {

void add_html_option(po::options_description& options) {
  options.add_options()("html", po::value<std::string>(),
                        "also write the results as a page of charts to this file");
}

std::optional<HtmlReport> HtmlReport::asked_in(const po::variables_map& given) {
  const auto file = optional_text(given, "html");
  if (!file) return std::nullopt;
  HtmlReport report;
  report.chart_library_ = report::chart_library();
  report.file_ = std::make_unique<OutputFile>(*file);
  return report;
}

void HtmlReport::write(const report::Page& page) const {
  const std::string html = report::page_html(page, chart_library_);
  file_->write(std::as_bytes(std::span<const char>(html)));
  file_->commit();
}

std::string command_line(const char* verb, const Arguments& arguments) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,./:@%";
  std::string line = std::string("orthros-sim ") + verb;
  for (const std::string& argument : arguments) {
    line += ' ';
    if (!argument.empty() && argument.find_first_not_of(plain) == std::string::npos) {
      line += argument;
      continue;
    }
    line += '\'';
    for (const char c : argument) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace orthros::cli
