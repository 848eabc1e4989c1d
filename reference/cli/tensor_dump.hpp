// Matrices and caches as named F64 tensors of a safetensors file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "reference/model/cache.hpp"
#include "reference/model/model.hpp"

namespace orthros::cli {

struct NamedTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<double> values;  // row-major
};

// A matrix's numbers, exact in double; `shape` regroups them.
template <class T>
NamedTensor named_tensor(std::string name, std::vector<int64_t> shape, const Matrix<T>& matrix) {
  NamedTensor tensor{std::move(name), std::move(shape), {}};
  tensor.values.reserve(static_cast<size_t>(matrix.size()));
  for (int64_t r = 0; r < matrix.rows(); ++r) {
    for (int64_t c = 0; c < matrix.cols(); ++c) {
      tensor.values.push_back(static_cast<double>(matrix(r, c)));
    }
  }
  return tensor;
}
template <class T>
NamedTensor named_tensor(std::string name, const Matrix<T>& matrix) {
  return named_tensor(std::move(name), {matrix.rows(), matrix.cols()}, matrix);
}

// What a sequence's cache holds, N the layer from 0: keys.N, values.N (T x Hkv d, keys after RoPE),
// of a decoder-decoder's one shared pair keys.shared, values.shared; of recurrent layers states.N
// (Hv x K x V) and, with a convolution, conv_inputs.N ((taps - 1) x channels, oldest first).
template <class S>
void add_cache(const ModelSpec& spec, const Cache<S>& cache, const std::string& prefix,
               std::vector<NamedTensor>& tensors) {
  for (size_t i = 0; i < cache.layers.size(); ++i) {
    const bool shared = static_cast<int64_t>(i) >= spec.self_layers();
    const std::string layer = shared ? "shared" : std::to_string(i);
    if (const auto* kv = std::get_if<KvCache<S>>(&cache.layers[i])) {
      tensors.push_back(named_tensor(prefix + "keys." + layer, kv->keys));
      tensors.push_back(named_tensor(prefix + "values." + layer, kv->values));
      continue;
    }
    const auto& state = std::get<RecurrentState<S>>(cache.layers[i]);
    const auto& mixer = std::get<LinearMixer>(spec.layers[i].mixer);
    tensors.push_back(named_tensor(prefix + "states." + layer,
                                   {mixer.value_heads, mixer.key_width, mixer.value_width},
                                   state.state));
    if (mixer.conv_width > 0) {
      tensors.push_back(named_tensor(prefix + "conv_inputs." + layer, state.conv_inputs));
    }
  }
}

// Throws InputError where `path` cannot be a new file, before work is spent on what it shall hold.
void require_writable(const std::filesystem::path& path);

void write_tensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                   const std::map<std::string, std::string>& metadata);

}  // namespace orthros::cli
