// PrefixCache: KV blocks of prompts, kept for later prompts that begin alike.
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>

namespace orthros {

// Holds hash blocks by id. A block that sequences refer to stays; one that none does waits in a
// list from which the least recently used is given up first. A prompt's blocks are released last
// first, so that a prefix outlives what follows it.
class PrefixCache {
 public:
  // How many of these ids, from the first on without a gap, are held.
  int64_t match(std::span<const int64_t> ids) const;
  // How many of these held blocks nothing refers to yet.
  int64_t idle_among(std::span<const int64_t> ids) const;
  // Refers to each: held ones once more, others are put in.
  void acquire(std::span<const int64_t> ids);
  void release(std::span<const int64_t> ids);
  void drop_oldest();  // of the idle; there must be one

  int64_t blocks() const { return static_cast<int64_t>(entries_.size()); }
  int64_t idle_blocks() const { return static_cast<int64_t>(idle_.size()); }
  int64_t references() const { return references_; }

 private:
  struct Entry {
    int64_t references = 0;
    std::list<int64_t>::iterator idle;  // where references is 0
  };
  std::unordered_map<int64_t, Entry> entries_;
  std::list<int64_t> idle_;  // oldest first
  int64_t references_ = 0;
};

}  // namespace orthros
