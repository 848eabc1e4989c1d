// A scalar that carries what it depends on: which tokens' embeddings, in which stream.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "reference/model/arithmetic.hpp"
#include "reference/model/rows.hpp"

namespace orthros {

// Sets of cache entries below 64, one set a stream.
struct Dependencies {
  uint64_t base = 0;
  uint64_t output = 0;
  bool operator==(const Dependencies&) const = default;
};

// Runs through the reference's own templates in place of numbers: every operation unites what its
// operands depend on, maximum included, constants depend on nothing, a default-constructed value is
// poisoned until it is assigned, and comparing values throws, so that neither unwritten memory nor
// control flow can hide a dependency.
class Tracing {
 public:
  Tracing() : poisoned_(true) {}
  explicit Tracing(double) {}
  explicit Tracing(Dependencies dependencies) : dependencies_(dependencies) {}

  const Dependencies& dependencies() const {
    if (poisoned_) throw std::logic_error("a value was read that nothing had written");
    return dependencies_;
  }

  friend Tracing operator+(const Tracing& x, const Tracing& y) { return both(x, y); }
  friend Tracing operator-(const Tracing& x, const Tracing& y) { return both(x, y); }
  friend Tracing operator*(const Tracing& x, const Tracing& y) { return both(x, y); }
  friend Tracing operator/(const Tracing& x, const Tracing& y) { return both(x, y); }
  friend Tracing operator-(const Tracing& x) { return both(x, x); }
  friend Tracing max(const Tracing& x, const Tracing& y) { return both(x, y); }
  friend Tracing exp(const Tracing& x) { return both(x, x); }
  friend Tracing log1p(const Tracing& x) { return both(x, x); }
  friend Tracing sqrt(const Tracing& x) { return both(x, x); }
  friend Tracing abs(const Tracing& x) { return both(x, x); }

  friend bool operator<(const Tracing&, const Tracing&) { return compared(); }
  friend bool operator>(const Tracing&, const Tracing&) { return compared(); }
  friend bool operator<=(const Tracing&, const Tracing&) { return compared(); }
  friend bool operator>=(const Tracing&, const Tracing&) { return compared(); }
  friend bool operator==(const Tracing&, const Tracing&) { return compared(); }
  friend bool operator!=(const Tracing&, const Tracing&) { return compared(); }

 private:
  static Tracing both(const Tracing& x, const Tracing& y) {
    const Dependencies& a = x.dependencies();
    const Dependencies& b = y.dependencies();
    return Tracing(Dependencies{a.base | b.base, a.output | b.output});
  }
  [[noreturn]] static bool compared() {
    throw std::logic_error("a value was compared: control flow must not depend on values");
  }

  Dependencies dependencies_;
  bool poisoned_ = false;
};

// A token's embedding as it enters a stream is a leaf of its own.
inline Tracing entering(const Tracing&, const Row& row) {
  if (row.entry >= 64) throw std::logic_error("tracing knows 64 tokens");
  const uint64_t leaf = uint64_t{1} << row.entry;
  return Tracing(row.stream == Stream::base ? Dependencies{leaf, 0} : Dependencies{0, leaf});
}

}  // namespace orthros
