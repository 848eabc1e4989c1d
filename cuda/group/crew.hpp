// Crew: a thread for each rank of this process, so that each has its own current device.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace orthros::cuda {

class Crew {
 public:
  struct Watch {
    std::function<void()> require_health;  // throws where something has gone wrong in silence
    std::function<void()> on_failure;  // makes all ranks' work end; told once a run, by any thread
    std::chrono::milliseconds patience;  // how long a run may take
  };
  Crew(const std::vector<int32_t>& ranks, Watch watch);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // work(rank) on every rank's thread; returns when all are done. Throws the first exception that a
  // rank threw, before any that followed from it, with the rank's number where it is no bad input.
  void run(const std::function<void(int32_t)>& work);

 private:
  void serve(int32_t rank);
  void note(int32_t rank, std::exception_ptr error);

  Watch watch_;
  std::mutex mutex_;
  std::condition_variable begins_;
  std::condition_variable ends_;
  const std::function<void(int32_t)>* work_ = nullptr;
  int64_t round_ = 0;
  int64_t working_ = 0;
  bool stopping_ = false;
  int32_t failed_rank_ = -1;  // none of them: the watch found it
  std::exception_ptr error_;
  std::vector<std::thread> threads_;
};

}  // namespace orthros::cuda
