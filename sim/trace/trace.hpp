// Trace: requests with arrival times and lengths, read from the files people publish.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace orthros {

// One request: when it arrives, the tokens of its prompt and the tokens it is to be given. Its
// prompt's hash ids, if it has any, are hash_ids[first_hash, first_hash + hashes) of what holds it.
struct Request {
  double arrival_s = 0.0;
  int64_t input = 0;   // at least 1
  int64_t output = 0;  // 0: a prefill alone
  int64_t first_hash = 0;
  int64_t hashes = 0;
};

// Prompt tokens that one hash id of a Mooncake trace stands for. Equal ids mean equal prompts up to
// the end of that block.
constexpr int64_t hash_block_tokens = 512;

struct Trace {
  std::string format;             // "Azure CSV", as recognised
  std::vector<Request> requests;  // in order of arrival; the first arrives at 0
  std::vector<int64_t> hash_ids;
};

// Recognises the format from the content, never from the name:
//   {"timestamp": ms, "input_length": n, "output_length": n, "hash_ids": [..]} a line  Mooncake
//   timestamp_ms (or timestamp, ms), input_length, output_length                       its lengths
//   TIMESTAMP (wall clock, up to 9 fraction digits, offset from UTC or none), ContextTokens,
//   GeneratedTokens                                                                    Azure
//   Timestamp (seconds), Request tokens, Response tokens                               BurstGPT
//   arrival_s, input, output                                                           plain
// Columns in any order, others ignored; LF or CRLF, a final newline or none, a BOM or none.
// InputError naming file and row (1-based line; a CSV's header is row 1) for an arrival that is
// absent, not finite, negative or before the row above's, and for lengths that are not whole, out
// of range (input from 1, output from 0, together at most 2^31) or absent.
Trace parse_trace(std::string_view text, const std::string& file);
Trace read_trace(const std::filesystem::path& path);  // at most 1 GiB

// Pairs of lengths. Columns as above without arrivals, or num_prefill_tokens and num_decode_tokens
// (Vidur), or input_tokens and output_tokens (ServeGen).
struct Lengths {
  int64_t input = 0;
  int64_t output = 0;
};
std::vector<Lengths> parse_lengths(std::string_view text, const std::string& file);
std::vector<Lengths> read_lengths(const std::filesystem::path& path);

}  // namespace orthros
