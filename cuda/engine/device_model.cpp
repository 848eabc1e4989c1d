// Lays a model's weights out in device memory.
#include "cuda/engine/device_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "cuda/kernels/elementwise.hpp"
#include "cuda/kernels/weights.hpp"
#include "reference/spec/input_error.hpp"
#include "reference/weights/bfloat16.hpp"

namespace orthros::cuda {
namespace {

constexpr int64_t piece_elements = int64_t{1} << 24;  // of a tensor, moved at a time

int64_t padded8(int64_t n) {
  return (n + 7) / 8 * 8;
}

// Rows and row width of a tensor: its first extent x the rest, a vector being one row.
std::pair<int64_t, int64_t> rows_of(const TensorInfo& tensor) {
  if (tensor.shape.size() == 1) return {1, tensor.shape[0]};
  return {tensor.shape[0], tensor.elements() / tensor.shape[0]};
}

}  // namespace

struct DeviceModel::Placement {
  std::map<std::string, TensorInfo> tensors;
  std::map<std::string, WeightRows> rows;
  int64_t elements = 0;  // of the whole memory

  explicit Placement(const ModelSpec& spec) {
    for (TensorInfo& tensor : tensor_table(spec)) {
      std::string name = tensor.name;
      tensors.emplace(std::move(name), std::move(tensor));
    }
    matrix({"model.embed_tokens.weight"});
    for (size_t i = 0; i < spec.layers.size(); ++i) {
      const std::string at = layer_prefix(static_cast<int64_t>(i));
      vector(at + "input_layernorm.weight");
      matrix({at + "self_attn.q_proj.weight", at + "self_attn.k_proj.weight",
              at + "self_attn.v_proj.weight"});
      for (const char* name : {"q_norm.weight", "k_norm.weight", "q_scale", "q_offset",
                               "q_scale_output", "q_offset_output"}) {
        vector(at + "self_attn." + name);
      }
      matrix({at + "self_attn.o_proj.weight"});
      vector(at + "post_attention_layernorm.weight");
      interleaved(at + "mlp.gate_proj.weight", at + "mlp.up_proj.weight");
      matrix({at + "mlp.down_proj.weight"});
    }
    vector("model.norm.weight");
    if (!spec.tied_embeddings) matrix({"lm_head.weight"});
  }

  Weight weight(const std::string& first, int64_t out, const bf16_bits* memory) const {
    const WeightRows& place = rows.at(first);
    return {memory + place.offset, out, place.width, place.stride};
  }
  const bf16_bits* pointer(const std::string& name, const bf16_bits* memory) const {
    const auto found = rows.find(name);
    return found == rows.end() ? nullptr : memory + found->second.offset;
  }

 private:
  // Takes memory for `count` rows of `stride`, 256-byte aligned, with rows of padding behind.
  int64_t take(int64_t count, int64_t stride) {
    const int64_t offset = elements;
    elements = (elements + padded16(count) * stride + 127) / 128 * 128;
    return offset;
  }

  // Matrices one under the other.
  void matrix(const std::vector<std::string>& names) {
    int64_t count = 0;
    for (const std::string& name : names) count += rows_of(tensors.at(name)).first;
    const int64_t stride = padded16(rows_of(tensors.at(names[0])).second);
    int64_t offset = take(count, stride);
    for (const std::string& name : names) {
      const auto [r, width] = rows_of(tensors.at(name));
      rows[name] = {offset, r, width, stride, false};
      offset += r * stride;
    }
  }

  // Scales and norms, dense; absent ones take nothing.
  void vector(const std::string& name) {
    const auto found = tensors.find(name);
    if (found == tensors.end()) return;
    const auto [r, width] = rows_of(found->second);
    rows[name] = {take(1, r * width), r, width, width, false};
  }

  void interleaved(const std::string& gate, const std::string& up) {
    const auto [r, width] = rows_of(tensors.at(gate));
    const int64_t stride = padded16(width);
    const int64_t offset = take(2 * padded8(r), stride);
    rows[gate] = {offset, r, width, stride, true};
    rows[up] = {offset + 8 * stride, r, width, stride, true};
  }
};

void require_runnable(const ModelSpec& spec) {
  const auto refuse = [&](const std::string& field, const std::string& expected) {
    throw InputError(spec.source.empty() ? spec.name : spec.source, field,
                     "expected " + expected + " for the CUDA engine");
  };
  if (spec.hidden % 8 != 0 || spec.hidden > most_norm_width) {
    refuse("hidden_size", fmt::format("a multiple of 8 up to {}", most_norm_width));
  }
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const std::string layer = fmt::format("layer {}", i);
    const auto* mixer = std::get_if<SoftmaxAttention>(&spec.layers[i].mixer);
    if (mixer == nullptr) refuse(layer, "softmax attention");
    if (mixer->kv == KvSource::shared) refuse(layer, "keys and values of its own");
    if (mixer->gated) refuse(layer, "attention without a gate");
    SoftmaxAttention same = *mixer;
    same.window = std::get<SoftmaxAttention>(spec.layers[0].mixer).window;
    if (same != std::get<SoftmaxAttention>(spec.layers[0].mixer) ||
        spec.layers[i].ffn != spec.layers[0].ffn) {
      refuse(layer, "all layers alike but for their windows");
    }
  }
  const auto& mixer = std::get<SoftmaxAttention>(spec.layers[0].mixer);
  constexpr int64_t most_width = 512;
  if (mixer.head_width % 8 != 0 || mixer.head_width > most_width) {
    refuse("head_dim", fmt::format("a multiple of 8 up to {}", most_width));
  }
}

DeviceModel::DeviceModel(const ModelSpec& model_spec, const WeightSource& source,
                         const std::function<void(int64_t)>& progress)
    : DeviceModel(model_spec) {
  DeviceBuffer<bf16_bits> dense(piece_elements);
  std::vector<bf16_bits> bits;
  for (const auto& [name, place] : placement_->rows) {
    const TensorInfo& tensor = placement_->tensors.at(name);
    for (int64_t first = 0; first < tensor.elements(); first += piece_elements) {
      const int64_t count = std::min(piece_elements, tensor.elements() - first);
      bits.resize(static_cast<size_t>(count));
      constexpr int64_t block = 1 << 16;
#pragma omp parallel for schedule(dynamic)
      for (int64_t at = 0; at < count; at += block) {
        std::vector<double> wide(static_cast<size_t>(std::min(block, count - at)));
        source.read(tensor, first + at, wide);
        std::transform(wide.begin(), wide.end(), bits.begin() + at,
                       [](double value) { return bfloat16(value).bits(); });
      }
      dense.copy_from(bits);
      launch_place_weights(dense.data(), first, count, place, memory_.data(), nullptr);
      ORTHROS_CUDA(cudaDeviceSynchronize());
      if (progress) progress(count);
    }
  }
}

DeviceModel::DeviceModel(const ModelSpec& model_spec, uint64_t seed) : DeviceModel(model_spec) {
  for (const auto& [name, place] : placement_->rows) {
    const TensorInfo& tensor = placement_->tensors.at(name);
    const WeightDraw draw = weight_draw(tensor, spec.norm);
    launch_draw_weights(CounterRandom(seed, name), draw.mean, draw.deviation, place, memory_.data(),
                        nullptr);
  }
  ORTHROS_CUDA(cudaDeviceSynchronize());
}

DeviceModel::DeviceModel(const ModelSpec& model_spec) : spec(model_spec) {
  require_runnable(spec);
  placement_ = std::make_shared<const Placement>(spec);
  bytes_ = placement_->elements * static_cast<int64_t>(sizeof(bf16_bits));
  size_t free = 0;
  size_t total = 0;
  ORTHROS_CUDA(cudaMemGetInfo(&free, &total));
  if (bytes_ > static_cast<int64_t>(free)) {
    throw InputError(
        spec.source.empty() ? spec.name : spec.source, "",
        fmt::format("expected weights within {:.2f} GB of free device memory, got "
                    "{:.2f} GB",
                    static_cast<double>(free) * 1e-9, static_cast<double>(bytes_) * 1e-9));
  }
  memory_ = DeviceBuffer<bf16_bits>(placement_->elements);
  memory_.fill_bytes(0);
  const bf16_bits* memory = memory_.data();
  const Placement& place = *placement_;
  const auto& mixer = std::get<SoftmaxAttention>(spec.layers[0].mixer);
  embedding = place.pointer("model.embed_tokens.weight", memory);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    const std::string at = layer_prefix(static_cast<int64_t>(i));
    const std::string attention = at + "self_attn.";
    const auto vector = [&](const std::string& name) { return place.pointer(name, memory); };
    layers.push_back(
        {vector(at + "input_layernorm.weight"),
         place.weight(attention + "q_proj.weight", mixer.query_width() + 2 * mixer.kv_width(),
                      memory),
         vector(attention + "q_norm.weight"),
         vector(attention + "k_norm.weight"),
         {vector(attention + "q_scale"), vector(attention + "q_scale_output")},
         {vector(attention + "q_offset"), vector(attention + "q_offset_output")},
         place.weight(attention + "o_proj.weight", spec.hidden, memory),
         vector(at + "post_attention_layernorm.weight"),
         place.weight(at + "mlp.gate_proj.weight", 2 * padded8(spec.layers[i].ffn.width), memory),
         place.weight(at + "mlp.down_proj.weight", spec.hidden, memory)});
  }
  norm = place.pointer("model.norm.weight", memory);
  head = place.weight(spec.tied_embeddings ? "model.embed_tokens.weight" : "lm_head.weight",
                      spec.vocab, memory);
}

std::vector<bf16_bits> DeviceModel::tensor(const std::string& name) const {
  const auto found = placement_->rows.find(name);
  if (found == placement_->rows.end()) {
    throw std::logic_error("no such tensor in the model: " + name);
  }
  const WeightRows& place = found->second;
  const int64_t elements = place.rows * place.width;
  DeviceBuffer<bf16_bits> dense(std::min(elements, piece_elements));
  std::vector<bf16_bits> result;
  result.reserve(static_cast<size_t>(elements));
  for (int64_t first = 0; first < elements; first += piece_elements) {
    const int64_t count = std::min(piece_elements, elements - first);
    launch_take_weights(memory_.data(), place, first, count, dense.data(), nullptr);
    const std::vector<bf16_bits> piece = dense.to_host(0, count);
    result.insert(result.end(), piece.begin(), piece.end());
  }
  return result;
}

void DeviceWeights::read(const TensorInfo& tensor, int64_t first, std::span<double> out) const {
  if (held_name_ != tensor.name) {
    held_ = model_.tensor(tensor.name);
    held_name_ = tensor.name;
  }
  const auto from = held_.begin() + first;
  std::transform(from, from + static_cast<int64_t>(out.size()), out.begin(),
                 [](bf16_bits bits) { return static_cast<double>(bfloat16::from_bits(bits)); });
}

bool DeviceWeights::has(const std::string& name) const {
  const std::vector<TensorInfo> table = tensor_table(model_.spec);
  return std::any_of(table.begin(), table.end(),
                     [&](const TensorInfo& tensor) { return tensor.name == name; });
}

}  // namespace orthros::cuda
