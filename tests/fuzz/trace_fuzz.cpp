// libFuzzer target: any text as a trace is refused or gives requests in order and within bounds.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "reference/spec/input_error.hpp"
#include "sim/trace/trace.hpp"

namespace orthros {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check_lengths(int64_t input, int64_t output) {
  constexpr int64_t longest = int64_t{1} << 31;
  require(input >= 1 && output >= 0 && input <= longest && output <= longest - input);
}

void check(const Trace& trace, size_t bytes) {
  require(!trace.requests.empty() && trace.requests.size() <= bytes);
  require(trace.hash_ids.size() <= bytes);
  require(trace.requests.front().arrival_s == 0.0);
  double last = 0.0;
  int64_t hashes = 0;
  for (const Request& request : trace.requests) {
    require(std::isfinite(request.arrival_s) && request.arrival_s >= last);
    last = request.arrival_s;
    check_lengths(request.input, request.output);
    require(request.first_hash == hashes && request.hashes >= 0);
    hashes += request.hashes;
  }
  require(hashes == static_cast<int64_t>(trace.hash_ids.size()));
}

template <class Read>
void read_or_refuse(Read read) {
  try {
    read();
  } catch (const InputError& error) {
    require(std::string_view(error.what()).find('\n') == std::string_view::npos);
  }
}

}  // namespace
}  // namespace orthros

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace orthros;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_or_refuse([&] { check(parse_trace(text, "fuzz"), size); });
  read_or_refuse([&] {
    for (const Lengths& lengths : parse_lengths(text, "fuzz")) {
      check_lengths(lengths.input, lengths.output);
    }
  });
  return 0;
}
