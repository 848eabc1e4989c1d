// Runs work on all ranks.
#include "cuda/group/crew.hpp"

#include <string>

#include "cuda/group/rendezvous.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {

Crew::Crew(const std::vector<int32_t>& ranks, Watch watch) : watch_(std::move(watch)) {
  for (const int32_t r : ranks) threads_.emplace_back([this, r] { serve(r); });
}

Crew::~Crew() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  begins_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Crew::serve(int32_t rank) {
  int64_t seen = 0;
  while (true) {
    const std::function<void(int32_t)>* work = nullptr;
    {
      std::unique_lock lock(mutex_);
      begins_.wait(lock, [&] { return stopping_ || round_ != seen; });
      if (stopping_) return;
      seen = round_;
      work = work_;
    }
    try {
      (*work)(rank);
    } catch (...) {
      note(rank, std::current_exception());
    }
    const std::lock_guard lock(mutex_);
    if (--working_ == 0) ends_.notify_all();
  }
}

void Crew::note(int32_t rank, std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    if (error_) return;  // what follows from the first
    error_ = std::move(error);
    failed_rank_ = rank;
  }
  watch_.on_failure();
}

void Crew::run(const std::function<void(int32_t)>& work) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  working_ = static_cast<int64_t>(threads_.size());
  error_ = nullptr;
  ++round_;
  begins_.notify_all();
  const auto until = std::chrono::steady_clock::now() + watch_.patience;
  constexpr auto look = std::chrono::milliseconds(100);
  while (!ends_.wait_for(lock, look, [&] { return working_ == 0; })) {
    if (error_) continue;
    lock.unlock();
    try {
      watch_.require_health();
      if (std::chrono::steady_clock::now() > until) {
        throw GroupFailure("no end within " + std::to_string(watch_.patience.count()) + " ms");
      }
    } catch (...) {
      note(-1, std::current_exception());
    }
    lock.lock();
  }
  if (!error_) return;
  try {
    std::rethrow_exception(error_);
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& failure) {
    const std::string who = failed_rank_ < 0 ? "the group" : "rank " + std::to_string(failed_rank_);
    throw GroupFailure(who + ": " + failure.what());
  }
}

}  // namespace orthros::cuda
