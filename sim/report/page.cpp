// Writes a page as HTML.
#include "sim/report/page.hpp"

#include <fmt/format.h>

#include "sim/report/html.hpp"
#include "sim/report/page_assets.hpp"

namespace orthros::report {
namespace {

// Cells that hold words stand left, numbers right.
bool is_word(const std::string& cell) {
  return !cell.empty() && cell.find_first_of("0123456789") == std::string::npos && cell != "n/a";
}

std::string table_html(const std::string& title, const cli::TextTable& table) {
  const auto& rows = table.rows();
  std::string html = "<div class=\"scroll\"><table>";
  if (!title.empty()) html += fmt::format("<caption>{}</caption>", escape_html(title));
  html += "<thead><tr>";
  for (size_t j = 0; j < rows.front().size(); ++j) {
    const bool words = rows.size() > 1 && is_word(rows[1][j]);
    html += fmt::format("<th scope=\"col\"{}>{}</th>", words ? " class=\"t\"" : "",
                        escape_html(rows.front()[j]));
  }
  html += "</tr></thead><tbody>\n";
  for (size_t i = 1; i < rows.size(); ++i) {
    html += "<tr>";
    for (size_t j = 0; j < rows[i].size(); ++j) {
      const std::string text = escape_html(rows[i][j]);
      html += j == 0
                  ? fmt::format("<th scope=\"row\">{}</th>", text)
                  : fmt::format("<td{}>{}</td>", is_word(rows[i][j]) ? " class=\"t\"" : "", text);
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string chart_html(const Chart& chart, bool wide) {
  std::string html = fmt::format(
      "<figure id=\"chart-{0}\"{1}>\n<h2>{2}</h2>\n<figcaption>{3}</figcaption>\n"
      "<div class=\"key\"></div>\n<div class=\"plot\"><canvas role=\"img\" aria-label=\"{2}\">"
      "</canvas></div>\n<details><summary>Figures</summary>\n",
      escape_html(chart.id), wide ? " class=\"wide\"" : "", escape_html(chart.title),
      escape_html(chart.caption));
  for (const auto& [title, table] : tables_of(chart)) html += table_html(title, table);
  return html + "</details>\n</figure>\n";
}

std::string head_html(const Page& page) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "script-src 'unsafe-inline'; style-src 'unsafe-inline'\">\n"
      "<title>{}</title>\n<style>\n{}</style>\n"
      "<noscript><style>.plot, .key {{ display: none; }}</style></noscript>\n</head>\n<body>\n",
      escape_html(page.title), page_style);
}

std::string introduction_html(const Page& page) {
  std::string html = fmt::format("<header>\n<p class=\"kicker\">orthros-sim {}</p>\n<h1>{}</h1>\n",
                                 escape_html(page.verb), escape_html(page.title));
  html += "<dl class=\"facts\">\n";
  for (const Page::Fact& fact : page.asked) {
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape_html(fact.name),
                        escape_html(fact.value));
  }
  html += "</dl>\n";
  if (!page.warnings.empty()) {
    html += "<ul class=\"warnings\">\n";
    for (const std::string& warning : page.warnings) {
      html += fmt::format("<li>{}</li>\n", escape_html(warning));
    }
    html += "</ul>\n";
  }
  html += "</header>\n";
  if (!page.headlines.empty()) {
    html += "<div class=\"headlines\">\n";
    for (const Page::Headline& headline : page.headlines) {
      html += fmt::format(
          "<div class=\"headline\" style=\"--colour: var({}, "
          "var(--arch-other))\"><b>{}</b><span>{}</span></div>\n",
          escape_html(headline.colour), escape_html(headline.figure), escape_html(headline.text));
    }
    html += "</div>\n";
  }
  return html;
}

std::string closing_html(const Page& page) {
  std::string html;
  for (const Page::Table& table : page.tables) {
    html += fmt::format("<section class=\"card\">\n<h2>{}</h2>\n{}</section>\n",
                        escape_html(table.title), table_html("", table.table));
  }
  html += "<section class=\"notes\">\n<h2>How to read this</h2>\n<ul>\n";
  for (const std::string& note : page.notes) {
    html += fmt::format("<li>{}</li>\n", escape_html(note));
  }
  return html + fmt::format("</ul>\n<code>{}</code>\n</section>\n", escape_html(page.command));
}

}  // namespace

std::string page_html(const Page& page, std::string_view chart_library) {
  std::string html = head_html(page) + introduction_html(page);
  html += "<main class=\"charts\">\n";
  nlohmann::ordered_json charts = nlohmann::ordered_json::array();
  bool beside = false;  // the chart stands to the right of another
  for (const Chart& chart : page.charts) {
    const bool alone = !beside && (&chart == &page.charts.back() || (&chart)[1].wide);
    html += chart_html(chart, chart.wide || alone);
    beside = !beside && !chart.wide && !alone;
    charts.push_back(to_json(chart));
  }
  html += "</main>\n" + closing_html(page);
  html += fmt::format("<script type=\"application/json\" id=\"charts\">{}</script>\n",
                      script_json(charts));
  html += fmt::format("<script>\n{}\n</script>\n", script_text(chart_library));
  html += fmt::format("<script>\n'use strict';\n{}</script>\n</body>\n</html>\n",
                      script_text(page_script));
  return html;
}

}  // namespace orthros::report
