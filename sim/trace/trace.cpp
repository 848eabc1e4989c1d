// Recognises a trace's format and reads its rows.
#include "sim/trace/trace.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <fstream>
#include <optional>
#include <utility>

#include "reference/spec/input_error.hpp"
#include "reference/spec/json_fields.hpp"
#include "sim/counts.hpp"
#include "sim/trace/csv_rows.hpp"
#include "sim/trace/wall_clock.hpp"

namespace orthros {
namespace {

enum class Clock { seconds, milliseconds, wall };

struct CsvFormat {
  const char* name;
  const char* arrival;  // empty: lengths alone
  const char* input;
  const char* output;
  Clock clock;
};

constexpr std::array<CsvFormat, 7> csv_formats = {{
    {"Azure CSV", "TIMESTAMP", "ContextTokens", "GeneratedTokens", Clock::wall},
    {"BurstGPT CSV", "Timestamp", "Request tokens", "Response tokens", Clock::seconds},
    {"Mooncake lengths CSV", "timestamp_ms", "input_length", "output_length", Clock::milliseconds},
    {"Mooncake lengths CSV", "timestamp", "input_length", "output_length", Clock::milliseconds},
    {"plain CSV", "arrival_s", "input", "output", Clock::seconds},
    {"Vidur lengths CSV", "", "num_prefill_tokens", "num_decode_tokens", Clock::seconds},
    {"ServeGen lengths CSV", "", "input_tokens", "output_tokens", Clock::seconds},
}};

constexpr double milliseconds_per_second = 1e3;
constexpr double nanoseconds_per_second = 1e9;
constexpr double latest_arrival_s =
    1e11;  // three thousand years: sums stay exact to the microsecond

struct Columns {
  const CsvFormat* format;
  std::optional<size_t> arrival;
  size_t input, output;
};

Columns find_columns(const CsvRows& rows, const std::string& file, bool arrivals) {
  const CsvFormat* nearest = nullptr;
  for (const CsvFormat& format : csv_formats) {
    const auto input = rows.find(format.input);
    const auto output = rows.find(format.output);
    if (!input || !output) continue;
    nearest = &format;
    if (!arrivals) return {&format, std::nullopt, *input, *output};
    const auto arrival = rows.find(format.arrival);
    if (format.arrival[0] != '\0' && arrival) return {&format, arrival, *input, *output};
  }
  if (nearest != nullptr) {
    throw InputError(file, "row 1",
                     fmt::format("expected a column of arrivals beside {} and {}; a file of "
                                 "lengths alone can be given as --lengths",
                                 nearest->input, nearest->output));
  }
  throw InputError(file, "row 1",
                   "expected the columns of an Azure, BurstGPT or Mooncake trace, or "
                   "arrival_s, input and output");
}

// Adds requests in order of arrival, the first at 0.
class Builder {
 public:
  Builder(Trace& trace, const std::string& file) : trace_(trace), file_(file) {}

  // An arrival in units of which a second has so many. `fail(field, expected)` throws, naming the
  // row.
  template <class Fail>
  void add(double arrival, double units_per_second, int64_t input, int64_t output, Fail fail) {
    if (arrival < 0.0) fail(Field::arrival, "an arrival from 0 on");
    if (arrival > latest_arrival_s * units_per_second) {
      fail(Field::arrival, "an arrival before 1e11 s");
    }
    if (trace_.requests.empty()) first_ = arrival;
    if (!trace_.requests.empty() && arrival < last_) {
      fail(Field::arrival, "an arrival no earlier than the row above's");
    }
    check_lengths(input, output, fail);
    last_ = arrival;
    Request request;
    request.arrival_s = (arrival - first_) / units_per_second;
    request.input = input;
    request.output = output;
    request.first_hash = static_cast<int64_t>(trace_.hash_ids.size());
    trace_.requests.push_back(request);
  }

  enum class Field { arrival, input, output };

  template <class Fail>
  static void check_lengths(int64_t input, int64_t output, Fail fail) {
    if (input < 1 || input > longest_sequence) fail(Field::input, "1 to 2147483648 tokens");
    if (output < 0 || output > longest_sequence - input) {
      fail(Field::output, "from 0 tokens, with the input at most 2147483648");
    }
  }

  void finish() const {
    if (trace_.requests.empty()) throw InputError(file_, "", "expected at least one request");
  }

 private:
  Trace& trace_;
  const std::string& file_;
  double first_ = 0.0;
  double last_ = 0.0;
};

Trace parse_csv(std::string_view text, const std::string& file) {
  CsvRows rows(text, file);
  const Columns columns = find_columns(rows, file, true);
  const size_t arrival = *columns.arrival;
  Trace trace;
  trace.format = columns.format->name;
  Builder builder(trace, file);
  std::optional<int64_t> first_nanoseconds;
  const auto fail = [&](Builder::Field field, const char* expected) {
    rows.fail(field == Builder::Field::arrival ? arrival
              : field == Builder::Field::input ? columns.input
                                               : columns.output,
              expected);
  };
  while (rows.next()) {
    double time = 0.0;
    double units_per_second = 1.0;
    switch (columns.format->clock) {
      case Clock::seconds:
        time = rows.number(arrival);
        break;
      case Clock::milliseconds:
        time = rows.number(arrival);
        units_per_second = milliseconds_per_second;
        break;
      case Clock::wall: {
        const auto since_1970 = parse_wall_clock(rows.text(arrival));
        if (!since_1970) rows.fail(arrival, "a date and time such as 2023-11-16 18:17:03.9799600");
        if (!first_nanoseconds) first_nanoseconds = since_1970;
        if (*since_1970 < *first_nanoseconds) {
          rows.fail(arrival, "an arrival no earlier than the row above's");
        }
        // Less the first, for a double holds fewer digits than a date has.
        time = static_cast<double>(*since_1970 - *first_nanoseconds);
        units_per_second = nanoseconds_per_second;
        break;
      }
    }
    builder.add(time, units_per_second, rows.whole(columns.input), rows.whole(columns.output),
                fail);
  }
  builder.finish();
  return trace;
}

Trace parse_mooncake(std::string_view text, const std::string& file) {
  Trace trace;
  trace.format = "Mooncake JSONL";
  Builder builder(trace, file);
  for (Lines lines(text); lines.next();) {
    const std::string row = fmt::format("{}: row {}", file, lines.row());
    const nlohmann::json object = parse_json(lines.line(), row);
    const JsonFields fields(object, row);
    const auto fail = [&](Builder::Field field, const char* expected) {
      const char* name = field == Builder::Field::arrival ? "timestamp"
                         : field == Builder::Field::input ? "input_length"
                                                          : "output_length";
      fields.fail(name, fmt::format("expected {}, got {}", expected, shown(object.at(name))));
    };
    builder.add(fields.required_number("timestamp"), milliseconds_per_second,
                fields.required_integer("input_length"), fields.required_integer("output_length"),
                fail);
    const nlohmann::json* ids = fields.raw("hash_ids");
    if (ids == nullptr) continue;
    if (!ids->is_array()) fields.fail("hash_ids", "expected an array of whole numbers");
    for (const nlohmann::json& id : *ids) {
      const auto value = whole_number(id);
      if (!value) fields.fail("hash_ids", "expected an array of whole numbers, got " + shown(id));
      trace.hash_ids.push_back(*value);
    }
    trace.requests.back().hashes = static_cast<int64_t>(ids->size());
  }
  builder.finish();
  return trace;
}

std::string read_file(const std::filesystem::path& path) {
  constexpr std::uintmax_t most_bytes = std::uintmax_t{1} << 30;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw InputError(path.string(), "", "expected a file that can be read");
  }
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw InputError(path.string(), "", "expected a file that can be read");
  if (size > most_bytes) throw InputError(path.string(), "", "expected at most 1 GiB");
  std::string text(static_cast<size_t>(size), '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!stream) throw InputError(path.string(), "", "expected a file that can be read");
  return text;
}

}  // namespace

Trace parse_trace(std::string_view text, const std::string& file) {
  Lines lines(text);
  if (!lines.next()) throw InputError(file, "", "expected a trace, got an empty file");
  const size_t first = lines.line().find_first_not_of(" \t");
  return lines.line()[first] == '{' ? parse_mooncake(text, file) : parse_csv(text, file);
}

Trace read_trace(const std::filesystem::path& path) {
  return parse_trace(read_file(path), path.string());
}

std::vector<Lengths> parse_lengths(std::string_view text, const std::string& file) {
  CsvRows rows(text, file);
  const Columns columns = find_columns(rows, file, false);
  std::vector<Lengths> lengths;
  const auto fail = [&](Builder::Field field, const char* expected) {
    rows.fail(field == Builder::Field::input ? columns.input : columns.output, expected);
  };
  while (rows.next()) {
    lengths.push_back({rows.whole(columns.input), rows.whole(columns.output)});
    Builder::check_lengths(lengths.back().input, lengths.back().output, fail);
  }
  if (lengths.empty()) throw InputError(file, "", "expected at least one row of lengths");
  return lengths;
}

std::vector<Lengths> read_lengths(const std::filesystem::path& path) {
  return parse_lengths(read_file(path), path.string());
}

}  // namespace orthros
