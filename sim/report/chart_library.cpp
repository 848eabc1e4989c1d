// Finds and reads Chart.js.
#include "sim/report/chart_library.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "reference/spec/input_error.hpp"

namespace orthros::report {
namespace {

constexpr std::uintmax_t most_bytes = 8 << 20;  // the library has 0.2 MB; its source 0.6 MB

}  // namespace

std::string chart_library() {
  const char* given = std::getenv("ORTHROS_CHART_JS");
  const std::filesystem::path path = given != nullptr ? given : ORTHROS_CHART_JS_PATH;
  std::error_code error;
  const bool regular = std::filesystem::is_regular_file(path, error);
  if (!regular && given == nullptr) {
    throw InputError("--html", "",
                     fmt::format("expected Chart.js at {}, got no such file; install the package "
                                 "libjs-chart.js, or name a file in ORTHROS_CHART_JS",
                                 path.string()));
  }
  const std::uintmax_t bytes = regular ? std::filesystem::file_size(path, error) : 0;
  std::string text;
  if (regular && !error && bytes <= most_bytes) {
    std::ifstream file(path, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  if (text.find("Chart.js") == std::string::npos) {
    throw InputError("ORTHROS_CHART_JS", "",
                     fmt::format("expected a readable Chart.js, version 3 or later, got '{}'; "
                                 "the package libjs-chart.js has one",
                                 path.string()));
  }
  return text;
}

}  // namespace orthros::report
