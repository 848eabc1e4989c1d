// Changes weights on their way into a model.
#include "tests/support/patched_weights.hpp"

#include <algorithm>
#include <vector>

namespace orthros {

void PatchedWeights::read(const TensorInfo& tensor, int64_t first, std::span<double> out) const {
  if (matches_(tensor.name)) {
    patch_(tensor, first, out);
  } else {
    source_.read(tensor, first, out);
  }
}

PatchedWeights::Match ends_with(std::initializer_list<const char*> endings) {
  return [texts = std::vector<std::string>(endings.begin(), endings.end())](std::string_view name) {
    return std::any_of(texts.begin(), texts.end(),
                       [&](const std::string& text) { return name.ends_with(text); });
  };
}

PatchedWeights identity_scale_offset(const WeightSource& source) {
  return {source, ends_with({"q_scale", "q_offset", "q_scale_output", "q_offset_output"}),
          [](const TensorInfo& tensor, int64_t, std::span<double> out) {
            std::fill(out.begin(), out.end(), tensor.role == TensorRole::scale ? 1.0 : 0.0);
          }};
}

PatchedWeights redrawn(const WeightSource& source, PatchedWeights::Match matches, uint64_t seed,
                       NormKind norm) {
  return {source, std::move(matches),
          [other = RandomWeights(seed, norm)](const TensorInfo& tensor, int64_t first,
                                              std::span<double> out) {
            other.read(tensor, first, out);
          }};
}

PatchedWeights zeroed(const WeightSource& source, PatchedWeights::Match matches) {
  return {source, std::move(matches), [](const TensorInfo&, int64_t, std::span<double> out) {
            std::fill(out.begin(), out.end(), 0.0);
          }};
}

PatchedWeights repeated_kv_heads(const WeightSource& source, const ModelSpec& grouped) {
  const auto& mixer = std::get<SoftmaxAttention>(grouped.layers.front().mixer);
  const int64_t width = mixer.head_width;
  const int64_t group = mixer.query_heads / mixer.kv_heads;
  return {source, ends_with({"k_proj.weight", "v_proj.weight"}),
          [&source, width, group](const TensorInfo& tensor, int64_t first, std::span<double> out) {
            TensorInfo narrow = tensor;
            narrow.shape[0] /= group;
            const int64_t columns = tensor.shape[1];
            for (size_t i = 0; i < out.size(); ++i) {
              const int64_t at = first + static_cast<int64_t>(i);
              const int64_t row = at / columns;
              const int64_t narrow_row = row / width / group * width + row % width;
              source.read(narrow, narrow_row * columns + at % columns, out.subspan(i, 1));
            }
          }};
}

}  // namespace orthros
