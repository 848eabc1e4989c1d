// Lists a spec's tensors.
#include "reference/spec/tensor_table.hpp"

#include <fmt/format.h>

namespace orthros {
namespace {

class Table {
 public:
  void add(std::string name, std::vector<int64_t> shape, TensorRole role) {
    rows_.push_back({std::move(name), std::move(shape), role});
  }
  void linear(std::string name, int64_t out, int64_t in) {
    add(std::move(name), {out, in}, TensorRole::linear);
  }
  void norm(std::string name, int64_t width) { add(std::move(name), {width}, TensorRole::norm); }
  std::vector<TensorInfo> take() { return std::move(rows_); }

 private:
  std::vector<TensorInfo> rows_;
};

void add_softmax(Table& table, const std::string& at, const SoftmaxAttention& mixer, int64_t hidden,
                 Streams streams) {
  const int64_t a = mixer.query_width();
  table.linear(at + "q_proj.weight", mixer.gated ? 2 * a : a, hidden);
  if (mixer.kv == KvSource::own) {
    table.linear(at + "k_proj.weight", mixer.kv_width(), hidden);
    table.linear(at + "v_proj.weight", mixer.kv_width(), hidden);
  }
  table.linear(at + "o_proj.weight", hidden, a);
  if (mixer.qk_norm) {
    table.norm(at + "q_norm.weight", mixer.head_width);
    if (mixer.kv == KvSource::own) table.norm(at + "k_norm.weight", mixer.head_width);
  }
  if (streams == Streams::dual && mixer.scale_offset != ScaleOffset::none) {
    const std::vector<int64_t> shape = {mixer.query_heads, mixer.head_width};
    table.add(at + "q_scale", shape, TensorRole::scale);
    table.add(at + "q_offset", shape, TensorRole::offset);
    table.add(at + "q_scale_output", shape, TensorRole::scale);
    table.add(at + "q_offset_output", shape, TensorRole::offset);
  }
}

// Names as in Qwen3.5's checkpoints.
void add_gated_delta(Table& table, const std::string& at, const LinearMixer& mixer,
                     int64_t hidden) {
  table.linear(at + "in_proj_qkv.weight", mixer.conv_channels(), hidden);
  table.linear(at + "in_proj_z.weight", mixer.values_width(), hidden);
  table.linear(at + "in_proj_a.weight", mixer.value_heads, hidden);
  table.linear(at + "in_proj_b.weight", mixer.value_heads, hidden);
  table.add(at + "conv1d.weight", {mixer.conv_channels(), 1, mixer.conv_width},
            TensorRole::convolution);
  table.add(at + "A_log", {mixer.value_heads}, TensorRole::decay_log);
  table.add(at + "dt_bias", {mixer.value_heads}, TensorRole::decay_bias);
  table.norm(at + "norm.weight", mixer.value_width);
  table.linear(at + "out_proj.weight", hidden, mixer.values_width());
}

// RetNet, gated retention and GLA: q, k, v, an output gate g, the output norm, and their decay.
void add_retention(Table& table, const std::string& at, const LinearMixer& mixer, int64_t hidden) {
  table.linear(at + "q_proj.weight", mixer.keys_width(), hidden);
  table.linear(at + "k_proj.weight", mixer.keys_width(), hidden);
  table.linear(at + "v_proj.weight", mixer.values_width(), hidden);
  table.linear(at + "g_proj.weight", mixer.values_width(), hidden);
  if (mixer.kind == Recurrence::gated_linear) {
    table.linear(at + "gk_proj.0.weight", mixer.gate_rank, hidden);
    table.linear(at + "gk_proj.1.weight", mixer.keys_width(), mixer.gate_rank);
    table.add(at + "gk_proj.1.bias", {mixer.keys_width()}, TensorRole::bias);
  }
  if (mixer.kind == Recurrence::gated_retention) {
    table.linear(at + "gt_proj.weight", mixer.value_heads, hidden);
  }
  table.norm(at + "g_norm.weight", mixer.value_width);
  table.linear(at + "o_proj.weight", hidden, mixer.values_width());
}

}  // namespace

int64_t TensorInfo::elements() const {
  int64_t product = 1;
  for (int64_t extent : shape) product *= extent;
  return product;
}

std::string layer_prefix(int64_t layer) {
  return fmt::format("model.layers.{}.", layer);
}

std::vector<TensorInfo> tensor_table(const ModelSpec& spec) {
  Table table;
  const int64_t hidden = spec.hidden;
  table.add("model.embed_tokens.weight", {spec.vocab, hidden}, TensorRole::embedding);
  const int64_t self_layers = spec.self_layers();
  for (int64_t i = 0; i < static_cast<int64_t>(spec.layers.size()); ++i) {
    const Layer& layer = spec.layers[static_cast<size_t>(i)];
    if (i == self_layers) {
      const auto& shared = std::get<SoftmaxAttention>(layer.mixer);
      const std::string at = shared_kv_prefix;
      table.norm(at + "norm.weight", hidden);
      table.linear(at + "k_proj.weight", shared.kv_width(), hidden);
      table.linear(at + "v_proj.weight", shared.kv_width(), hidden);
      if (shared.qk_norm) table.norm(at + "k_norm.weight", shared.head_width);
    }
    const std::string at = layer_prefix(i);
    table.norm(at + "input_layernorm.weight", hidden);
    if (const auto* softmax = std::get_if<SoftmaxAttention>(&layer.mixer)) {
      add_softmax(table, at + "self_attn.", *softmax, hidden, spec.streams);
    } else {
      const auto& linear = std::get<LinearMixer>(layer.mixer);
      const auto add = linear.kind == Recurrence::gated_delta ? add_gated_delta : add_retention;
      add(table, at + "linear_attn.", linear, hidden);
    }
    table.norm(at + "post_attention_layernorm.weight", hidden);
    table.linear(at + "mlp.gate_proj.weight", layer.ffn.width, hidden);
    table.linear(at + "mlp.up_proj.weight", layer.ffn.width, hidden);
    table.linear(at + "mlp.down_proj.weight", hidden, layer.ffn.width);
  }
  table.norm("model.norm.weight", hidden);
  if (!spec.tied_embeddings) table.linear("lm_head.weight", spec.vocab, hidden);
  return table.take();
}

int64_t parameter_count(const ModelSpec& spec) {
  int64_t total = 0;
  for (const TensorInfo& tensor : tensor_table(spec)) total += tensor.elements();
  return total;
}

}  // namespace orthros
