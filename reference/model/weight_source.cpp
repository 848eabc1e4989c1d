// Reads weights from files or draws them.
#include "reference/model/weight_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "reference/model/parallel.hpp"
#include "reference/spec/input_error.hpp"
#include "reference/weights/bfloat16.hpp"
#include "reference/weights/counter_random.hpp"

namespace orthros {

WeightDraw weight_draw(const TensorInfo& tensor, NormKind norm) {
  switch (tensor.role) {
    case TensorRole::linear:
    case TensorRole::convolution:
      return {0.0, 1.0 / std::sqrt(static_cast<double>(tensor.shape.back()))};
    case TensorRole::norm: {
      const bool around_zero =
          norm == NormKind::zero_centred && !tensor.name.ends_with("linear_attn.norm.weight");
      return {around_zero ? 0.0 : 1.0, 0.1};
    }
    case TensorRole::scale:
      return {1.0, 0.3};
    case TensorRole::offset:
      return {0.0, 0.3};
    case TensorRole::decay_log:
    case TensorRole::decay_bias:
      return {0.0, 0.5};
    case TensorRole::embedding:
    case TensorRole::bias:
      break;
  }
  return {0.0, 1.0};
}

void RandomWeights::read(const TensorInfo& tensor, int64_t first, std::span<double> out) const {
  const CounterRandom random(seed_, tensor.name);
  const WeightDraw draw = weight_draw(tensor, norm_);
  for (size_t i = 0; i < out.size(); ++i) {
    const double value =
        draw.mean + draw.deviation * random.normal(static_cast<uint64_t>(first) + i);
    out[i] = static_cast<double>(bfloat16(value));
  }
}

const TensorView* find_tensor(const TensorSource& files, const std::string& name) {
  if (const TensorView* view = files.find(name)) return view;
  constexpr std::string_view text = "model.";
  if (!name.starts_with(text)) return nullptr;
  return files.find("model.language_model." + name.substr(text.size()));
}

void CheckpointWeights::read(const TensorInfo& tensor, int64_t first, std::span<double> out) const {
  const TensorView* view = find_tensor(files_, tensor.name);
  if (view == nullptr) {
    throw InputError(files_.file(), tensor.name, "expected this tensor, found none");
  }
  if (view->shape != tensor.shape) {
    throw InputError(view->file, tensor.name,
                     fmt::format("expected shape [{}], got [{}]", fmt::join(tensor.shape, ", "),
                                 fmt::join(view->shape, ", ")));
  }
  TensorView part = *view;
  const auto bytes = static_cast<size_t>(bits_of(view->dtype) / 8);
  part.shape = {static_cast<int64_t>(out.size())};
  part.bytes = view->bytes.subspan(static_cast<size_t>(first) * bytes, out.size() * bytes);
  read_as<double>(part, out);
}

void check_tensors(const ModelSpec& spec, const TensorSource& files) {
  const CheckpointWeights weights(files);
  for (const TensorInfo& tensor : tensor_table(spec)) weights.read(tensor, 0, {});
}

}  // namespace orthros
