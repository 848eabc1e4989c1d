// Divides a model's layers into pools of equal retention.
#include "sim/serve/kv_layout.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "sim/memory.hpp"

namespace orthros {
namespace {

constexpr int64_t unlimited = longest_sequence;

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

int64_t KvPool::blocks(int64_t tokens, int64_t block_size) const {
  return std::min(ceil_div(tokens, block_size), most_blocks);
}

int64_t KvLayout::bytes(int64_t tokens) const {
  int128 sum = state_bytes;
  for (const KvPool& pool : pools)
    sum += int128{pool.blocks(tokens, block_size)} * pool.block_bytes;
  return static_cast<int64_t>(std::min<int128>(sum, std::numeric_limits<int64_t>::max()));
}

int64_t KvLayout::next_token_bytes() const {
  int64_t sum = 0;
  for (const KvPool& pool : pools) sum = checked_sum(sum, pool.block_bytes, "KV block");
  return sum;
}

bool KvLayout::resident() const {
  return state_bytes == 0 && std::all_of(pools.begin(), pools.end(), [](const KvPool& pool) {
           return pool.most_blocks == unlimited;
         });
}

KvLayout kv_layout(const CountModel& model, const Deployment& deployment, int64_t block_size) {
  KvLayout layout;
  layout.block_size = block_size;
  layout.state_bytes = memory_of(model, deployment, 1, 1).state;
  std::map<int64_t, CountModel> pools;  // by the most blocks that a sequence keeps
  for (LayerGroup group : model.groups) {
    if (group.kind == LayerGroup::Kind::linear) continue;
    const bool capped = !model.dual && group.window < no_window;
    CountModel& pool = pools[capped ? ceil_div(group.window - 1, block_size) + 1 : unlimited];
    group.window = no_window;
    pool.groups.push_back(group);
  }
  for (const auto& [most_blocks, layers] : pools) {
    layout.pools.push_back({memory_of(layers, deployment, 1, block_size).kv, most_blocks});
  }
  return layout;
}

}  // namespace orthros
