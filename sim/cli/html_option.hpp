// --html FILE: a verb's results as one self-contained page of charts.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "reference/cli_support/options.hpp"
#include "reference/spec/output_file.hpp"
#include "sim/report/page.hpp"

namespace orthros::cli {

void add_html_option(po::options_description& options);

// The page asked for. Made before the work begins, so that a missing chart library and a file that
// cannot be written are told before anything is printed.
class HtmlReport {
 public:
  // Absent without --html. Throws InputError.
  static std::optional<HtmlReport> asked_in(const po::variables_map& given);

  // Once; the whole file or none of it.
  void write(const report::Page& page) const;

 private:
  std::unique_ptr<OutputFile> file_;
  std::string chart_library_;
};

// A command as a shell reads it back: "orthros-sim cost --model 'my model'".
std::string command_line(const char* verb, const Arguments& arguments);

}  // namespace orthros::cli
