// Closed forms of DESIGN's cost table.
#include "sim/counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "reference/spec/input_error.hpp"

namespace orthros {
namespace {

void check_length(int64_t value, std::string_view field) {
  if (value < 0 || value > longest_sequence) {
    throw InputError(field, "",
                     fmt::format("expected 0 to {} tokens, got {}", longest_sequence, value));
  }
}

int128 triangle(int64_t n) {
  return int128{n} * (int128{n} + 1) / 2;
}

// Sum over t = 1..n of min(t, window).
int128 pairs_from_start(int64_t n, int64_t window) {
  return n <= window ? triangle(n) : triangle(window) + int128{n - window} * window;
}

// One chunk of c tokens, all value heads (DESIGN: retention and GLA 2C(K+V) + 4KV, GDN C(6K+4V) +
// 6KV FLOPs per token and head, and c(c-1)(c-2)/3 FLOPs for GDN's triangular inverse).
int128 chunk_macs(const LayerGroup& group, int64_t c) {
  const int128 k = group.key_width;
  const int128 v = group.value_width;
  const int128 length = c;
  if (group.recurrence != Recurrence::gated_delta) {
    return group.value_heads * length * (length * (k + v) + 2 * k * v);
  }
  const int128 inverse = length * (length - 1) * (length - 2) / 6;
  return group.value_heads * (length * (length * (3 * k + 2 * v) + 3 * k * v) + inverse);
}

int128 conv_macs(const LayerGroup& group) {
  return int128{group.conv_channels()} * group.conv_width;
}

// Every layer of a group: base rows, then output copies.
int128 group_macs(const LayerGroup& group, bool dual, int64_t prefix, int64_t tokens,
                  const OutputSet& outputs, RecurrentForm form, int64_t chunk) {
  using Kind = LayerGroup::Kind;
  int128 macs = int128{tokens} * group.base_row_macs;
  if (dual || group.dead_base || group.kind == Kind::shared_kv) {
    macs += int128{outputs.count} * group.copy_row_macs;
  }
  const int128 per_pair = 2 * int128{group.query_width};  // QK and PV
  if (group.kind == Kind::shared_kv || (group.kind == Kind::softmax && (dual || group.dead_base))) {
    macs += per_pair * outputs.position_sum;
  }
  if (group.kind == Kind::softmax && !group.dead_base) {
    macs += per_pair * causal_pairs(prefix, tokens, group.window);
  }
  if (group.kind == Kind::linear) {
    macs += int128{tokens} * conv_macs(group) + recurrence_macs(group, tokens, form, chunk);
    if (dual) macs += int128{outputs.count} * group.state_elements();
  }
  return group.layers * macs;
}

// Lengths of the runs of tokens between places where an output copy reads a linear layer's state:
// behind each output position within the new tokens.
std::vector<int64_t> uncut_lengths(int64_t prefix, int64_t tokens,
                                   std::span<const int64_t> output_positions) {
  std::vector<int64_t> ends(output_positions.begin(), output_positions.end());
  ends.push_back(prefix + tokens);
  std::sort(ends.begin(), ends.end());
  std::vector<int64_t> lengths;
  int64_t begin = prefix;
  for (int64_t end : ends) {
    if (end <= begin || end > prefix + tokens) continue;
    lengths.push_back(end - begin);
    begin = end;
  }
  return lengths;
}

}  // namespace

int128 causal_pairs(int64_t prefix, int64_t tokens, int64_t window) {
  return pairs_from_start(prefix + tokens, window) - pairs_from_start(prefix, window);
}

int128 recurrence_macs(const LayerGroup& group, int64_t tokens, RecurrentForm form, int64_t chunk) {
  if (form == RecurrentForm::chunkwise) {
    return tokens / chunk * chunk_macs(group, chunk) + chunk_macs(group, tokens % chunk);
  }
  // GDN: v - kS, the outer product and the read; the others: the outer product and the read.
  const int64_t passes = group.recurrence == Recurrence::gated_delta ? 3 : 2;
  return int128{tokens} * passes * group.state_elements();
}

int128 forward_macs(const CountModel& model, int64_t prefix, int64_t tokens,
                    const OutputSet& outputs, RecurrentForm form, int64_t chunk) {
  check_length(prefix, "prefix");
  check_length(tokens, "tokens");
  check_length(prefix + tokens, "prefix + tokens");
  check_length(outputs.count, "outputs");
  if (chunk < 1 || chunk > longest_sequence) {
    throw InputError("chunk", "", fmt::format("expected 1 to {}, got {}", longest_sequence, chunk));
  }
  int128 macs = int128{outputs.count} * model.hidden * model.vocab;
  macs += 2 * int128{tokens} * model.hidden * model.shared_kv_width;
  for (const LayerGroup& group : model.groups) {
    macs += group_macs(group, model.dual, prefix, tokens, outputs, form, chunk);
  }
  return macs;
}

int128 forward_macs(const CountModel& model, int64_t prefix, int64_t tokens,
                    std::span<const int64_t> output_positions, RecurrentForm form, int64_t chunk) {
  OutputSet outputs{static_cast<int64_t>(output_positions.size()), 0};
  for (int64_t position : output_positions) {
    check_length(position, "output position");
    outputs.position_sum += position;
  }
  int128 macs = forward_macs(model, prefix, tokens, outputs, form, chunk);
  if (!model.dual || form == RecurrentForm::recurrent) return macs;
  const std::vector<int64_t> lengths = uncut_lengths(prefix, tokens, output_positions);
  for (const LayerGroup& group : model.groups) {
    if (group.kind != LayerGroup::Kind::linear) continue;
    macs -= group.layers * recurrence_macs(group, tokens, form, chunk);
    for (int64_t length : lengths) {
      macs += group.layers * recurrence_macs(group, length, form, chunk);
    }
  }
  return macs;
}

int128 prefill_macs(const CountModel& model, int64_t input, RecurrentForm form, int64_t chunk) {
  return forward_macs(model, 0, input, OutputSet{1, input}, form, chunk);
}

int128 decode_macs(const CountModel& model, int64_t input, int64_t output) {
  check_length(output, "output");
  if (output <= 1) return 0;
  // Steps are rows of one forward in every count but the chunkwise one, so they sum to it.
  const int64_t steps = output - 1;
  check_length(input + steps, "input + output");
  const OutputSet outputs{steps, causal_pairs(input, steps, no_window)};
  return forward_macs(model, input, steps, outputs, RecurrentForm::recurrent);
}

int64_t flops_from_macs(int128 macs, int64_t batch, std::string_view field) {
  constexpr int128 most = std::numeric_limits<int64_t>::max();
  if (macs > most / 2 || batch < 0 || 2 * macs * batch > most) {
    throw InputError(field, "",
                     "expected a count of FLOPs within 64 bits; shorten the sequences "
                     "or the batch");
  }
  return static_cast<int64_t>(2 * macs * batch);
}

int64_t checked_product(int64_t a, int64_t b, std::string_view field) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    throw InputError(field, "",
                     fmt::format("expected a product within 64 bits, got {} x {}", a, b));
  }
  return product;
}

int64_t checked_sum(int64_t a, int64_t b, std::string_view field) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    throw InputError(field, "", fmt::format("expected a sum within 64 bits, got {} + {}", a, b));
  }
  return sum;
}

}  // namespace orthros
