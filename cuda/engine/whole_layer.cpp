// Lays a layer's entries out.
#include "cuda/engine/whole_layer.hpp"

#include "cuda/engine/kv_store.hpp"
#include "cuda/layout/dealt_keys.hpp"

namespace orthros::cuda {
namespace {

CacheShape whole_shape(const ModelSpec& spec, const EngineLimits& limits) {
  EngineLimits whole = limits;
  whole.sequences = 1;
  whole.sequence_stride = 0;
  whole.deal = {};
  CacheShape shape = cache_shape(spec, whole);
  shape.layers = 1;
  return shape;
}

int64_t received_elements(const CacheShape& shape, const EngineLimits& limits) {
  return 2 * shape.kv_heads * most_dealt(limits.context, limits.deal.ranks) * shape.width;
}

int64_t first_received(const CacheShape& shape) {
  return 2 * shape.layer_elements() + CacheShape::slack_tokens * shape.width;
}

}  // namespace

int64_t WholeLayer::bytes(const ModelSpec& spec, const EngineLimits& limits) {
  const CacheShape shape = whole_shape(spec, limits);
  const int64_t elements =
      first_received(shape) + (limits.deal.ranks - 1) * received_elements(shape, limits);
  return elements * (limits.kv == KvFormat::e4m3 ? 1 : 2);
}

WholeLayer::WholeLayer(const ModelSpec& spec, const EngineLimits& limits)
    : shape_(whole_shape(spec, limits)),
      deal_(limits.deal),
      received_elements_(received_elements(shape_, limits)),
      memory_(bytes(spec, limits)) {}

// Keys from element `first` on, then values.
KvView WholeLayer::view(const KvView& layer, int64_t first, int64_t head_stride) const {
  const int64_t values = first + shape_.kv_heads * head_stride;
  KvView view{nullptr, nullptr, 0, head_stride};
  if (layer.keys8 != nullptr) {
    view.keys8 = memory_.data() + first;
    view.values8 = memory_.data() + values;
    view.exponents = layer.exponents;
  } else {
    auto* memory = reinterpret_cast<bf16_bits*>(memory_.data());
    view.keys = memory + first;
    view.values = memory + values;
  }
  return view;
}

KvView WholeLayer::entries(const KvView& layer) const {
  return view(layer, 0, shape_.head_stride);
}

KvView WholeLayer::received(const KvView& layer, const Deal& from, int64_t tokens) const {
  const int64_t before = from.rank < deal_.rank ? from.rank : from.rank - 1;  // other ranks
  return view(layer, first_received(shape_) + before * received_elements_,
              dealt_count(tokens, from) * shape_.width);
}

void WholeLayer::poison(cudaStream_t stream) {
  constexpr int all_ones = 0xff;
  ORTHROS_CUDA(
      cudaMemsetAsync(memory_.data(), all_ones, static_cast<size_t>(memory_.bytes()), stream));
}

}  // namespace orthros::cuda
