// Reduces a ModelSpec to groups of identical layers.
#include <algorithm>

#include "reference/spec/input_error.hpp"
#include "reference/spec/tensor_table.hpp"
#include "sim/counts.hpp"

namespace orthros {
namespace {

// MACs per row beyond this would let sums over positions leave 128 bits.
constexpr int128 largest_row = int128{1} << 58;

int64_t bounded(int128 macs, const ModelSpec& spec) {
  if (macs > largest_row) {
    throw InputError(spec.source.empty() ? spec.name : spec.source, "layers",
                     "expected sizes whose multiply-adds per token fit 58 bits");
  }
  return static_cast<int64_t>(macs);
}

LayerGroup softmax_group(const SoftmaxAttention& mixer, const Layer& layer, const ModelSpec& spec,
                         bool dead_base) {
  LayerGroup group;
  const bool shared = mixer.kv == KvSource::shared;
  group.kind = shared ? LayerGroup::Kind::shared_kv : LayerGroup::Kind::softmax;
  group.ffn_width = layer.ffn.width;
  group.dead_base = dead_base;
  group.query_width = mixer.query_width();
  group.kv_width = mixer.kv_width();
  group.gate_width = mixer.gated ? group.query_width : 0;
  group.query_heads = mixer.query_heads;
  group.kv_heads = mixer.kv_heads;
  group.window = std::min(mixer.window.value_or(no_window), no_window);
  const int128 hidden = spec.hidden;
  const int128 keys_values = 2 * hidden * group.kv_width;
  const int128 rest =
      hidden * (2 * int128{group.query_width} + group.gate_width) + 3 * hidden * group.ffn_width;
  group.copy_row_macs = bounded(rest, spec);
  if (shared) return group;
  group.base_row_macs = bounded(dead_base ? keys_values : keys_values + rest, spec);
  return group;
}

// Projections of a linear layer, by recurrence (names as in tensor_table).
LayerGroup linear_group(const LinearMixer& mixer, const Layer& layer, const ModelSpec& spec,
                        bool dead_base) {
  LayerGroup group;
  group.kind = LayerGroup::Kind::linear;
  group.ffn_width = layer.ffn.width;
  group.dead_base = dead_base;
  group.recurrence = mixer.kind;
  group.key_heads = mixer.key_heads;
  group.value_heads = mixer.value_heads;
  group.key_width = mixer.key_width;
  group.value_width = mixer.value_width;
  group.conv_width = mixer.kind == Recurrence::gated_delta ? mixer.conv_width : 0;
  group.gate_rank = mixer.kind == Recurrence::gated_linear ? mixer.gate_rank : 0;
  const int128 hidden = spec.hidden;
  const int128 keys = mixer.keys_width();
  const int128 values = mixer.values_width();
  const int128 ffn = 3 * hidden * group.ffn_width;
  int128 decay = 0;
  if (mixer.kind == Recurrence::gated_delta) decay = 2 * hidden * mixer.value_heads;
  if (mixer.kind == Recurrence::gated_linear) decay = (hidden + keys) * mixer.gate_rank;
  if (mixer.kind == Recurrence::gated_retention) decay = hidden * mixer.value_heads;
  // q, gate and out projections and the FFN: what a copy passes through, and what is dead below it.
  const int128 read_side = hidden * keys + 2 * hidden * values + ffn;
  const int128 write_side = hidden * keys + hidden * values + decay;
  group.base_row_macs = bounded(dead_base ? write_side : write_side + read_side, spec);
  group.copy_row_macs = bounded(read_side, spec);
  return group;
}

bool alike(const Layer& a, const Layer& b) {
  if (a.ffn != b.ffn || a.mixer.index() != b.mixer.index()) return false;
  if (const auto* softmax = std::get_if<SoftmaxAttention>(&a.mixer)) {
    const auto& other = std::get<SoftmaxAttention>(b.mixer);
    return softmax->query_heads == other.query_heads && softmax->kv_heads == other.kv_heads &&
           softmax->head_width == other.head_width && softmax->window == other.window &&
           softmax->gated == other.gated && softmax->kv == other.kv;
  }
  return std::get<LinearMixer>(a.mixer) == std::get<LinearMixer>(b.mixer);
}

// Whether a last layer's rows that predict nothing may stop at their keys and values.
bool can_be_dead(const Layer& layer, bool dual) {
  if (dual) return true;
  const auto* softmax = std::get_if<SoftmaxAttention>(&layer.mixer);
  return softmax != nullptr && softmax->kv != KvSource::shared && !softmax->window;
}

void number_window(CountModel& model, LayerGroup& group, const ModelSpec& spec) {
  auto& windows = model.windows;
  const auto at = std::find(windows.begin(), windows.end(), group.window);
  group.window_index = static_cast<int>(at - windows.begin());
  if (at != windows.end()) return;
  if (windows.size() + 1 == most_windows) {
    throw InputError(spec.source.empty() ? spec.name : spec.source, "sliding_window",
                     "expected at most 4 different windows in one model");
  }
  windows.push_back(group.window);
}

// The reach stands among the windows, so that a decode load counts min(n, reach) as it does others.
void set_reach(CountModel& model) {
  if (!model.dual) return;
  int64_t reach = 0;
  for (const LayerGroup& group : model.groups) {
    if (group.kind != LayerGroup::Kind::softmax || group.window == no_window) return;
    reach += group.layers * (group.window - 1);
  }
  model.reach = reach;
  auto& windows = model.windows;
  const auto at = std::find(windows.begin(), windows.end(), reach);
  model.reach_index = static_cast<int>(at - windows.begin());
  if (at == windows.end()) windows.push_back(reach);
}

}  // namespace

CountModel count_model(const ModelSpec& spec, CountOptions options) {
  CountModel model;
  model.name = spec.name;
  model.dual = spec.streams == Streams::dual;
  model.hidden = spec.hidden;
  model.vocab = spec.vocab;
  model.max_positions = spec.max_positions;
  model.embedding_elements = spec.tied_embeddings ? 0 : spec.vocab * spec.hidden;
  std::vector<size_t> example;  // a layer of each group
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const Layer& layer = spec.layers[i];
    const bool dead =
        options.skip_dead && i + 1 == spec.layers.size() && can_be_dead(layer, model.dual);
    size_t g = 0;
    while (g < example.size() &&
           (model.groups[g].dead_base != dead || !alike(spec.layers[example[g]], layer))) {
      ++g;
    }
    if (g == example.size()) {
      const auto* softmax = std::get_if<SoftmaxAttention>(&layer.mixer);
      model.groups.push_back(
          softmax != nullptr ? softmax_group(*softmax, layer, spec, dead)
                             : linear_group(std::get<LinearMixer>(layer.mixer), layer, spec, dead));
      example.push_back(i);
    }
    if (model.groups[g].window < no_window) number_window(model, model.groups[g], spec);
    ++model.groups[g].layers;
    if (model.groups[g].kind == LayerGroup::Kind::shared_kv) {
      model.shared_kv_width = model.groups[g].kv_width;
    }
  }
  set_reach(model);
  int128 row_macs = 2 * int128{spec.vocab} * spec.hidden;
  for (const LayerGroup& group : model.groups) {
    row_macs += int128{group.layers} * (int128{group.base_row_macs} + group.copy_row_macs);
  }
  bounded(row_macs, spec);  // every weight is in it, so the parameters fit 64 bits
  model.parameters = parameter_count(spec);
  return model;
}

}  // namespace orthros
