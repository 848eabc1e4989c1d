// Rendezvous: where the threads of a group meet, and hear of it if one of them will never come.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>

namespace orthros::cuda {

// What the other ranks throw once one has failed or none has come in time.
class GroupFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Rendezvous {
 public:
  // `patience`: how long one waits for the others.
  Rendezvous(int64_t size, std::chrono::milliseconds patience) : size_(size), patience_(patience) {}

  // Returns once all have come. Throws GroupFailure, at once and ever after, where the group has
  // failed, and lets it fail where not all come in time.
  void meet() {
    std::unique_lock lock(mutex_);
    require_health();
    const int64_t round = round_;
    if (++here_ == size_) {
      here_ = 0;
      ++round_;
      all_here_.notify_all();
      return;
    }
    const bool met =
        all_here_.wait_for(lock, patience_, [&] { return round_ != round || failed_; });
    if (!met) {
      failed_ = true;
      reason_ = "not all ranks came to meet within " + std::to_string(patience_.count()) + " ms";
      all_here_.notify_all();
    }
    if (round_ == round) require_health();
  }

  // The first reason given is the one that all hear.
  void fail(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (!failed_) reason_ = reason;
    failed_ = true;
    all_here_.notify_all();
  }
  bool failed() const {
    const std::lock_guard lock(mutex_);
    return failed_;
  }
  std::string reason() const {
    const std::lock_guard lock(mutex_);
    return reason_;
  }

 private:
  void require_health() const {
    if (failed_) throw GroupFailure(reason_);
  }

  const int64_t size_;
  const std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;
  std::condition_variable all_here_;
  int64_t here_ = 0;
  int64_t round_ = 0;
  bool failed_ = false;
  std::string reason_;
};

}  // namespace orthros::cuda
