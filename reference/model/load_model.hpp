// Builds a Model from a spec and a source of weights.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference/model/model.hpp"
#include "reference/model/parallel.hpp"
#include "reference/model/weight_source.hpp"

namespace orthros {

// Consecutive rows that one thread gives to a Linear: a Linear whose rows share storage shares it
// among no more than these.
inline constexpr int64_t rows_loaded_together = 32;

// Reads tensors by name, some rows at a time so that no whole tensor stands in double.
template <class S>
class ModelLoader {
 public:
  ModelLoader(const ModelSpec& spec, const WeightSource& source) : spec_(spec), source_(source) {
    for (TensorInfo& tensor : tensor_table(spec)) {
      std::string name = tensor.name;
      table_.emplace(std::move(name), std::move(tensor));
    }
  }

  Model<S> load() const {
    Model<S> model;
    model.spec = spec_;
    model.embedding = matrix("model.embed_tokens.weight");
    for (size_t i = 0; i < spec_.layers.size(); ++i) {
      model.layers.push_back(layer(spec_.layers[i], layer_prefix(static_cast<int64_t>(i))));
    }
    if (spec_.has_shared_kv()) {
      const std::string at = shared_kv_prefix;
      model.shared_kv =
          SharedKvWeights<S>{vector(at + "norm.weight"), linear(at + "k_proj.weight"),
                             linear(at + "v_proj.weight"), optional_vector(at + "k_norm.weight")};
    }
    model.norm = vector("model.norm.weight");
    model.head = linear(spec_.tied_embeddings ? "model.embed_tokens.weight" : "lm_head.weight");
    return model;
  }

 private:
  LayerWeights<S> layer(const Layer& layer, const std::string& at) const {
    LayerWeights<S> weights;
    weights.input_norm = vector(at + "input_layernorm.weight");
    weights.post_norm = vector(at + "post_attention_layernorm.weight");
    weights.gate = linear(at + "mlp.gate_proj.weight");
    weights.up = linear(at + "mlp.up_proj.weight");
    weights.down = linear(at + "mlp.down_proj.weight");
    if (const auto* mixer = std::get_if<LinearMixer>(&layer.mixer)) {
      weights.mixer = linear_mixer(*mixer, at + "linear_attn.");
    } else {
      weights.mixer = softmax(at + "self_attn.");
    }
    return weights;
  }

  SoftmaxWeights<S> softmax(const std::string& at) const {
    SoftmaxWeights<S> weights;
    weights.query = linear(at + "q_proj.weight");
    weights.key = optional_linear(at + "k_proj.weight");
    weights.value = optional_linear(at + "v_proj.weight");
    weights.output = linear(at + "o_proj.weight");
    weights.query_norm = optional_vector(at + "q_norm.weight");
    weights.key_norm = optional_vector(at + "k_norm.weight");
    if (table_.contains(at + "q_scale")) {
      weights.base = {matrix(at + "q_scale"), matrix(at + "q_offset")};
      weights.output_scale = {matrix(at + "q_scale_output"), matrix(at + "q_offset_output")};
    }
    return weights;
  }

  LinearMixerWeights<S> linear_mixer(const LinearMixer& mixer, const std::string& at) const {
    LinearMixerWeights<S> weights;
    const bool delta = mixer.kind == Recurrence::gated_delta;
    if (delta) {
      const std::string qkv = at + "in_proj_qkv.weight";
      weights.query = linear_rows(qkv, 0, mixer.keys_width());
      weights.key = linear_rows(qkv, mixer.keys_width(), mixer.keys_width());
      weights.value = linear_rows(qkv, 2 * mixer.keys_width(), mixer.values_width());
    } else {
      weights.query = linear(at + "q_proj.weight");
      weights.key = linear(at + "k_proj.weight");
      weights.value = linear(at + "v_proj.weight");
    }
    weights.gate = linear(at + (delta ? "in_proj_z.weight" : "g_proj.weight"));
    weights.output = linear(at + (delta ? "out_proj.weight" : "o_proj.weight"));
    weights.decay = optional_linear(at + (delta ? "in_proj_a.weight" : "gt_proj.weight"));
    weights.write = optional_linear(at + "in_proj_b.weight");
    weights.gate_down = optional_linear(at + "gk_proj.0.weight");
    weights.gate_up = optional_linear(at + "gk_proj.1.weight");
    weights.gate_bias = optional_vector(at + "gk_proj.1.bias");
    weights.taps = delta ? matrix(at + "conv1d.weight") : Matrix<S>();
    weights.decay_log = optional_vector(at + "A_log");
    weights.decay_bias = optional_vector(at + "dt_bias");
    weights.norm = vector(at + (delta ? "norm.weight" : "g_norm.weight"));
    return weights;
  }

  const TensorInfo& info(const std::string& name) const {
    const auto found = table_.find(name);
    if (found == table_.end()) throw std::logic_error("no such tensor in the table: " + name);
    return found->second;
  }

  // Calls row(i, values) for i < count: rows from `first` on of the tensor, seen as its first
  // extent x the rest. The source is asked a block of rows at a time, by one thread; rows are
  // handed on by several, those that may share a panel of a Linear by the same one.
  template <class Row>
  void each_row(const TensorInfo& tensor, int64_t first, int64_t count, const Row& row) const {
    const int64_t width = tensor.elements() / tensor.shape.front();
    constexpr int64_t panel = rows_loaded_together;
    constexpr int64_t block_elements = int64_t{1} << 22;
    const int64_t block = std::max<int64_t>(block_elements / width / panel, 1) * panel;
    std::vector<double> wide(static_cast<size_t>(std::min(block, count) * width));
    for (int64_t begin = 0; begin < count; begin += block) {
      const int64_t rows = std::min(block, count - begin);
      const auto part = std::span(wide).first(static_cast<size_t>(rows * width));
      source_.read(tensor, (first + begin) * width, part);
      parallel_for((rows + panel - 1) / panel, rows * width, [&](int64_t group) {
        std::vector<S> values(static_cast<size_t>(width), S(0.0));
        for (int64_t i = group * panel; i < std::min(rows, (group + 1) * panel); ++i) {
          std::transform(part.begin() + i * width, part.begin() + (i + 1) * width, values.begin(),
                         [](double v) { return S(v); });
          row(begin + i, values.data());
        }
      });
    }
  }

  Linear<S> linear(const std::string& name) const {
    return linear_rows(name, 0, info(name).shape[0]);
  }
  Linear<S> linear_rows(const std::string& name, int64_t first, int64_t count) const {
    const TensorInfo& tensor = info(name);
    Linear<S> result(count, tensor.shape[1]);
    each_row(tensor, first, count, [&](int64_t i, const S* values) { result.set_row(i, values); });
    return result;
  }

  Matrix<S> matrix(const std::string& name) const {
    const TensorInfo& tensor = info(name);
    Matrix<S> result(tensor.shape[0], tensor.elements() / tensor.shape[0]);
    each_row(tensor, 0, tensor.shape[0], [&](int64_t i, const S* values) {
      std::copy_n(values, result.cols(), &result(i, 0));
    });
    return result;
  }

  Vector<S> vector(const std::string& name) const {
    const Matrix<S> column = matrix(name);
    return Eigen::Map<const Vector<S>>(column.data(), column.size());
  }

  Linear<S> optional_linear(const std::string& name) const {
    return table_.contains(name) ? linear(name) : Linear<S>();
  }
  Vector<S> optional_vector(const std::string& name) const {
    return table_.contains(name) ? vector(name) : Vector<S>();
  }

  const ModelSpec& spec_;
  const WeightSource& source_;
  std::map<std::string, TensorInfo> table_;
};

template <class S>
Model<S> load_model(const ModelSpec& spec, const WeightSource& source) {
  return ModelLoader<S>(spec, source).load();
}

extern template class ModelLoader<double>;
extern template class ModelLoader<float>;
extern template class ModelLoader<bfloat16>;

}  // namespace orthros
