// Progress: says on stderr how far long work has come.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace orthros::cli {

// On a terminal, silent for two seconds and then a bar that is written over; elsewhere a line every
// ten seconds. For one thread at a time.
class Progress {
 public:
  // `total` in whatever add() counts.
  Progress(std::string what, int64_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  void add(int64_t done);

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  int64_t total_;
  int64_t done_ = 0;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point next_;
};

}  // namespace orthros::cli
