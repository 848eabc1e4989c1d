// Random cases: every edge that matters comes up in turn, in combinations that a seed chooses.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cuda/check/check_case.hpp"

namespace orthros::cuda {

enum class Suite { quick, full };

// Deals the members of lists to a sequence of cases: each list is gone through again and again, in
// another order every time, so that `size` cases in a row from a multiple of `size` on hold each of
// its members once.
class Dealer {
 public:
  Dealer(uint64_t seed, int64_t index) : seed_(seed), index_(index) {}

  template <class T>
  T of(std::string_view what, const std::vector<T>& list) const {
    return list[place(what, list.size())];
  }

 private:
  size_t place(std::string_view what, size_t size) const;

  uint64_t seed_;
  int64_t index_;
};

// How many random cases a suite has: enough for each member of the longest list.
int64_t random_cases(Suite suite);
// The `index`-th random case of a seed.
CheckCase random_case(Suite suite, uint64_t seed, int64_t index);

}  // namespace orthros::cuda
