// --html FILE: a verb's results as one self-contained page of charts.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "reference/cli_support/options.hpp"
#include "sim/report/page.hpp"

namespace orthros::cli {

void add_html_option(po::options_description& options);

// The page asked for, before the work begins: absent without --html; throws InputError where the
// chart library is missing.
class HtmlReport {
 public:
  static std::optional<HtmlReport> asked_in(const po::variables_map& given);

  // The whole file or none of it. To be called before anything is printed: throws InputError where
  // it cannot be written.
  void write(const report::Page& page) const;

 private:
  std::filesystem::path file_;
  std::string chart_library_;
};

// A command as a shell reads it back: "orthros-sim cost --model 'my model'".
std::string command_line(const char* verb, const Arguments& arguments);

}  // namespace orthros::cli
