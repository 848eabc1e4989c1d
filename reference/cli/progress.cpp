// Writes progress lines.
#include "reference/cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace orthros::cli {

using namespace std::chrono_literals;

Progress::Progress(std::string what, int64_t total)
    : what_(std::move(what)),
      total_(std::max<int64_t>(total, 1)),
      terminal_(::isatty(STDERR_FILENO) == 1),
      next_(Clock::now() + 2s) {}

Progress::~Progress() {
  if (shown_ && terminal_) std::fputs("\n", stderr);
}

void Progress::add(int64_t done) {
  done_ += done;
  const auto now = Clock::now();
  if (now < next_ || done_ > total_) return;
  next_ = now + (terminal_ ? 500ms : 10000ms);
  shown_ = true;
  const double percent = 100.0 * static_cast<double>(done_) / static_cast<double>(total_);
  fmt::print(stderr, "{}orthros-ref: {}: {:.0f} %{}", terminal_ ? "\r" : "", what_,
             std::min(percent, 100.0), terminal_ ? "" : "\n");
  std::fflush(stderr);
}

}  // namespace orthros::cli
