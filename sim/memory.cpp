// Sums a model's bytes.
#include "sim/memory.hpp"

#include <algorithm>
#include <limits>

#include "reference/spec/input_error.hpp"
#include "sim/shards.hpp"

namespace orthros {
namespace {

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

int64_t narrow(int128 bytes) {
  if (bytes > std::numeric_limits<int64_t>::max()) {
    throw InputError("memory", "",
                     "expected a number of bytes within 64 bits; shorten the "
                     "sequences or the batch");
  }
  return static_cast<int64_t>(bytes);
}

int128 kv_width(const LayerGroup& group, const Deployment& to) {
  return ceil_div(group.kv_heads, to.tensor_parallel) * (group.kv_width / group.kv_heads);
}

// Bytes of one sequence's keys and values on the fullest rank.
int128 kv_bytes(const CountModel& model, const Deployment& to, int64_t tokens) {
  int128 bytes = 0;
  bool shared_counted = false;
  for (const LayerGroup& group : model.groups) {
    if (group.kind == LayerGroup::Kind::linear) continue;
    const bool shared = group.kind == LayerGroup::Kind::shared_kv;
    if (shared && shared_counted) continue;
    shared_counted = shared_counted || shared;
    const int128 layers = shared ? 1 : group.layers;
    const int64_t kept = model.dual ? tokens : std::min(tokens, group.window);
    // A shard that ran its left context again keeps it too.
    const int128 share = shard_share(model, to, kept, std::min(tokens, model.reach.value_or(0)));
    const int64_t parts = to.sequence_parallel;
    const int128 held = (share + parts - 1) / parts;
    bytes += layers * 2 * kv_width(group, to) * to.kv_bytes * held;
  }
  return bytes;
}

int128 state_bytes(const CountModel& model, const Deployment& to) {
  int128 bytes = 0;
  for (const LayerGroup& group : model.groups) {
    if (group.kind != LayerGroup::Kind::linear) continue;
    const int128 state = int128{ceil_div(group.value_heads, to.tensor_parallel)} * group.key_width *
                         group.value_width * to.state_bytes;
    const int128 taps = int128{ceil_div(group.conv_channels(), to.tensor_parallel)} *
                        std::max<int64_t>(group.conv_width - 1, 0) * to.activation_bytes;
    bytes += group.layers * (state + taps);
  }
  return bytes;
}

bool fits(const CountModel& model, const Deployment& to, int64_t batch, int64_t tokens,
          int64_t room) {
  const int128 bytes = int128{batch} * (kv_bytes(model, to, tokens) + state_bytes(model, to));
  return bytes <= room;
}

// The largest x in [0, most] for which holds(x), true up to some x and false beyond.
template <class Holds>
int64_t largest(int64_t most, Holds holds) {
  int64_t good = 0;
  int64_t bad = most + 1;
  while (bad - good > 1) {
    const int64_t middle = good + (bad - good) / 2;
    (holds(middle) ? good : bad) = middle;
  }
  return good;
}

int64_t weight_bytes(const CountModel& model, const Deployment& to) {
  return ceil_div(checked_product(model.parameters, to.weight_bytes, "weights"),
                  to.tensor_parallel);
}

}  // namespace

Memory memory_of(const CountModel& model, const Deployment& to, int64_t batch, int64_t tokens) {
  Memory memory;
  memory.weights = weight_bytes(model, to);
  Deployment even = to;  // one more token on each rank
  even.left_context = LeftContext::receive;
  memory.kv_per_token = narrow(kv_bytes(model, even, to.sequence_parallel));
  memory.kv = narrow(batch * kv_bytes(model, to, tokens));
  memory.state = narrow(batch * state_bytes(model, to));
  memory.total = narrow(int128{memory.weights} + memory.kv + memory.state);
  return memory;
}

int64_t activation_bytes(const CountModel& model, const Deployment& to, int64_t tokens,
                         int64_t outputs) {
  int64_t widest = 0;
  for (const LayerGroup& group : model.groups) {
    const int64_t ffn = 3 * ceil_div(group.ffn_width, to.tensor_parallel);
    const int64_t mixer =
        group.kind == LayerGroup::Kind::linear
            ? 2 * group.key_heads * group.key_width + 3 * group.value_heads * group.value_width
            : 2 * group.query_width + group.gate_width + 2 * group.kv_width;
    widest = std::max({widest, ffn, ceil_div(mixer, to.tensor_parallel)});
  }
  const int64_t rows = ceil_div(tokens, to.sequence_parallel);
  constexpr int64_t fp32 = 4;
  return narrow(int128{rows} * (2 * model.hidden + widest) * to.activation_bytes +
                int128{outputs} * ceil_div(model.vocab, to.tensor_parallel) * fp32);
}

int64_t largest_batch(const CountModel& model, const Deployment& to, int64_t tokens,
                      int64_t capacity, int64_t reserved) {
  const int64_t room = capacity - reserved - weight_bytes(model, to);
  if (room < 0) return 0;
  return largest(longest_sequence,
                 [&](int64_t batch) { return fits(model, to, batch, tokens, room); });
}

int64_t largest_context(const CountModel& model, const Deployment& to, int64_t batch,
                        int64_t capacity, int64_t reserved) {
  const int64_t room = capacity - reserved - weight_bytes(model, to);
  if (room < 0) return 0;
  return largest(longest_sequence,
                 [&](int64_t tokens) { return fits(model, to, batch, tokens, room); });
}

}  // namespace orthros
