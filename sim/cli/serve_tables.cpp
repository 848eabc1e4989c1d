// Writes the results of `serve` as CSV: architectures, requests, time.
#include <fmt/format.h>

#include <iterator>

#include "sim/cli/serve_report.hpp"
#include "sim/cli/text_table.hpp"

namespace orthros::cli {
namespace {

std::string cell(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

}  // namespace

// The same names as in the JSON, an object's fields joined to its own by an underscore.
std::string serve_csv(const ServeScenario& s) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> header;
  for (const auto& entry : serve_json(s)) {
    header.clear();
    rows.emplace_back();
    const auto add = [&](const std::string& name, const nlohmann::ordered_json& value) {
      header.push_back(name);
      rows.back().push_back(value.is_null()     ? std::string()
                            : value.is_string() ? value.get<std::string>()
                                                : value.dump());
    };
    for (const auto& [name, value] : entry.items()) {
      if (!value.is_object()) {
        add(name, value);
        continue;
      }
      for (const auto& [inner, figure] : value.items()) add(name + "_" + inner, figure);
    }
  }
  TextTable table(header);
  for (auto& row : rows) table.add(std::move(row));
  return table.csv();
}

std::string requests_csv(const ServeScenario& s) {
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out,
                 "arch,request,status,replica,input,output,cached_tokens,preemptions,arrival_s,"
                 "admitted_s,first_token_s,finish_s,wait_s,ttft_s,tpot_s,e2e_s\n");
  for (const ServeOutcome& outcome : s.outcomes) {
    for (size_t i = 0; i < outcome.result.requests.size(); ++i) {
      const RequestRecord& r = outcome.result.requests[i];
      if (r.status == RequestRecord::Status::rejected) {
        fmt::format_to(out, "{},{},rejected,,{},{},,,{},,,,,,,\n", outcome.arch, i + 1, r.input,
                       r.output, r.arrival_s);
        continue;
      }
      fmt::format_to(out, "{},{},completed,{},{},{},{},{},{},{},{},{},{},{},{},{}\n", outcome.arch,
                     i + 1, r.replica, r.input, r.output, r.cached_tokens, r.preemptions,
                     r.arrival_s, r.admitted_s, r.first_token_s, r.finish_s,
                     r.admitted_s - r.arrival_s, r.first_token_s - r.arrival_s, cell(tpot_of(r)),
                     r.finish_s - r.arrival_s);
    }
  }
  return fmt::to_string(text);
}

std::string timeline_csv(const ServeScenario& s) {
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "arch,from_s,to_s,waiting,running,kv_bytes\n");
  for (const ServeOutcome& outcome : s.outcomes) {
    const Timeline& timeline = outcome.result.timeline;
    for (size_t i = 0; i < timeline.waiting.size(); ++i) {
      fmt::format_to(out, "{},{},{},{},{},{}\n", outcome.arch,
                     static_cast<double>(i) * timeline.bucket_s,
                     static_cast<double>(i + 1) * timeline.bucket_s, timeline.waiting[i],
                     timeline.running[i], timeline.kv_bytes[i]);
    }
  }
  return fmt::to_string(text);
}

}  // namespace orthros::cli
