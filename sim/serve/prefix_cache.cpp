// Keeps blocks by id, the idle ones in order of their last use.
#include "sim/serve/prefix_cache.hpp"

#include <algorithm>

namespace orthros {

int64_t PrefixCache::match(std::span<const int64_t> ids) const {
  const auto missing =
      std::find_if(ids.begin(), ids.end(), [&](int64_t id) { return !entries_.contains(id); });
  return missing - ids.begin();
}

int64_t PrefixCache::idle_among(std::span<const int64_t> ids) const {
  return std::count_if(ids.begin(), ids.end(),
                       [&](int64_t id) { return entries_.at(id).references == 0; });
}

void PrefixCache::acquire(std::span<const int64_t> ids) {
  for (const int64_t id : ids) {
    const auto [at, created] = entries_.try_emplace(id);
    if (!created && at->second.references == 0) idle_.erase(at->second.idle);
    ++at->second.references;
    ++references_;
  }
}

void PrefixCache::release(std::span<const int64_t> ids) {
  for (size_t i = ids.size(); i-- > 0;) {
    Entry& entry = entries_.at(ids[i]);
    --references_;
    if (--entry.references == 0) entry.idle = idle_.insert(idle_.end(), ids[i]);
  }
}

void PrefixCache::drop_oldest() {
  entries_.erase(idle_.front());
  idle_.pop_front();
}

}  // namespace orthros
