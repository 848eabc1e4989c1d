// OpenMP over independent pieces of work, with exceptions carried out of the region.
#pragma once

#include <cstdint>
#include <exception>

namespace orthros {

// Calls body(i) for i in [0, count). Each i's result must not depend on another's, so the number
// of threads changes no bit. `work` is the rough number of multiply-adds of all of it: little work
// runs on the calling thread.
template <class Body>
void parallel_for(int64_t count, int64_t work, const Body& body) {
  constexpr int64_t worth_a_team = 1 << 15;
  if (work < worth_a_team || count < 2) {
    for (int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  std::exception_ptr failure;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count; ++i) {
    try {
      body(i);
    } catch (...) {
#pragma omp critical(orthros_parallel_failure)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace orthros
