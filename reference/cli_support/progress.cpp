// Writes progress lines.
#include "reference/cli_support/progress.hpp"

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
      next_(Clock::now() + (terminal_ ? 2s : 10s)) {}

Progress::~Progress() {
  if (shown_ && terminal_) std::fputs("\n", stderr);
}

void Progress::add(int64_t done) {
  done_ += done;
  const auto now = Clock::now();
  if (now < next_ || done_ > total_) return;
  next_ = now + (terminal_ ? 500ms : 10000ms);
  shown_ = true;
  const double share = std::min(static_cast<double>(done_) / static_cast<double>(total_), 1.0);
  if (terminal_) {
    constexpr size_t width = 30;
    const auto filled = static_cast<size_t>(share * static_cast<double>(width));
    fmt::print(stderr, "\r{} [{:#<{}}{:.<{}}] {:3.0f} %", what_, "", filled, "", width - filled,
               100.0 * share);
  } else {
    fmt::print(stderr, "{}: {:.0f} %\n", what_, 100.0 * share);
  }
  std::fflush(stderr);
}

}  // namespace orthros::cli
