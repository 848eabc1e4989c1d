// Page: a report as one self-contained HTML file.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/cli/text_table.hpp"
#include "sim/report/chart.hpp"

namespace orthros::report {

// Everything here is plain text; it is escaped when written.
struct Page {
  struct Fact {
    std::string name, value;
  };
  // A figure that stands out at the head of the page, with what it means under it.
  struct Headline {
    std::string figure, text;
    Colour colour;
  };
  struct Table {
    std::string title;
    cli::TextTable table;
  };
  std::string verb;   // "cost"
  std::string title;  // the question in one line
  std::string command;
  std::vector<Headline> headlines;
  std::vector<Fact> asked;            // model, hardware, profile, ...
  std::vector<std::string> warnings;  // the profile's caveat first
  std::vector<Chart> charts;
  std::vector<Table> tables;
  std::vector<std::string> notes;  // how the figures came about
};

// The whole page: style, data, tables, the chart library's text and the script that draws. Asks
// nothing of a network and says so to the browser (Content-Security-Policy). Same page, same text.
std::string page_html(const Page& page, std::string_view chart_library);

}  // namespace orthros::report
