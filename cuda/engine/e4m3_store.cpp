// Places e4m3 caches in device memory and reads them back.
#include "cuda/engine/e4m3_store.hpp"

#include <algorithm>

#include "cuda/kernels/attention.hpp"
#include "cuda/kernels/elementwise.hpp"
#include "cuda/kernels/kv_entries.hpp"
#include "cuda/layout/near_keys.hpp"
#include "reference/hopper/e4m3.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cuda {
namespace {

// The scratch cache; nothing where no kernel needs it.
CacheShape scratch_shape(const ModelSpec& spec, const EngineLimits& limits,
                         const CacheShape& cache) {
  if (!range_attention_fits(attention_shape(spec))) return {0, 1, 0, 0, 0, 0};
  const int64_t keys = most_near_keys(widest_window(spec), limits.context, limits.chunk);
  constexpr int64_t align = 64;
  const int64_t head_stride = (keys + align - 1) / align * align * cache.width;
  return {1, 1, cache.kv_heads, cache.width, head_stride, cache.kv_heads * head_stride};
}

int64_t elements_of(const CacheShape& shape) {
  return shape.layers == 0 ? 0 : shape.elements();
}

hopper::KvScales scales_of(const ModelSpec& spec, const EngineLimits& limits) {
  const hopper::KvScales plain(spec);
  const hopper::KvScales& scales = limits.kv_scales.value_or(plain);
  if (scales.layers() != plain.layers() || scales.kv_heads() != plain.kv_heads()) {
    throw InputError("engine", "kv_scales", "expected those of the model's layers and KV heads");
  }
  return scales;
}

// As they lie on the device. `neighbour`: each head has the next one's, the last the first's.
std::vector<int8_t> flat(const hopper::KvScales& scales, bool neighbour) {
  std::vector<int8_t> all;
  for (int64_t layer = 0; layer < scales.layers(); ++layer) {
    for (const bool values : {false, true}) {
      for (int64_t head = 0; head < scales.kv_heads(); ++head) {
        const int64_t whose = neighbour ? (head + 1) % scales.kv_heads() : head;
        all.push_back(static_cast<int8_t>(scales.exponent(layer, values, whose)));
      }
    }
  }
  return all;
}

}  // namespace

int64_t widest_window(const ModelSpec& spec) {
  int64_t widest = 0;
  for (const Layer& layer : spec.layers) {
    const auto& window = std::get<SoftmaxAttention>(layer.mixer).window;
    if (!window) return 0;
    widest = std::max(widest, *window);
  }
  return widest;
}

E4m3Store::E4m3Store(const ModelSpec& spec, const EngineLimits& limits, const CacheShape& shape,
                     EngineFault fault)
    : shape_(shape),
      scratch_shape_(scratch_shape(spec, limits, shape)),
      scales_(scales_of(spec, limits)),
      keys_(shape.elements()),
      values_(shape.elements()),
      exponents_(std::span<const int8_t>(flat(scales_, false))),
      seen_exponents_(
          std::span<const int8_t>(flat(scales_, fault == EngineFault::neighbour_scale))),
      scratch_keys_(elements_of(scratch_shape_)),
      scratch_values_(elements_of(scratch_shape_)) {}

KvView E4m3Store::view(int64_t layer, const DeviceBuffer<int8_t>& exponents) const {
  const int64_t first = layer * shape_.layer_elements();
  KvView view{nullptr, nullptr, shape_.sequence_stride, shape_.head_stride};
  view.keys8 = keys_.data() + first;
  view.values8 = values_.data() + first;
  view.exponents = exponents.data() + 2 * layer * shape_.kv_heads;
  return view;
}

std::vector<bf16_bits> E4m3Store::entries(int64_t layer, int64_t sequence, KeyRange range,
                                          bool values) const {
  const int64_t length = range.end - range.begin;
  std::vector<bf16_bits> result(static_cast<size_t>(length * shape_.kv_heads * shape_.width));
  for (int64_t h = 0; h < shape_.kv_heads; ++h) {
    const int64_t first = layer * shape_.layer_elements() + sequence * shape_.sequence_stride +
                          h * shape_.head_stride + range.begin * shape_.width;
    const std::vector<uint8_t> head =
        (values ? values_ : keys_).to_host(first, length * shape_.width);
    const int exponent = scales_.exponent(layer, values, h);
    for (int64_t i = 0; i < length * shape_.width; ++i) {
      const int64_t place = (i / shape_.width * shape_.kv_heads + h) * shape_.width;
      result[static_cast<size_t>(place + i % shape_.width)] =
          hopper::widen_e4m3(head[static_cast<size_t>(i)], exponent);
    }
  }
  return result;
}

void E4m3Store::draw(cudaStream_t stream) {
  launch_draw_entries(CounterRandom(1, "keys"), keys_.size(), keys_.data(), stream);
  launch_draw_entries(CounterRandom(1, "values"), values_.size(), values_.data(), stream);
}

void E4m3Store::poison(int64_t sequence, int64_t length, cudaStream_t stream) {
  constexpr int unwritten = 0x7f;  // NaN of the standard's e4m3; as an entry, the largest number
  const int64_t written = length * shape_.width;
  for (int64_t i = 0; i < shape_.layers; ++i) {
    const KvView entries = layer(i);
    for (uint8_t* data : {entries.keys8, entries.values8}) {
      ORTHROS_CUDA(cudaMemset2DAsync(data + sequence * shape_.sequence_stride + written,
                                     static_cast<size_t>(shape_.head_stride), unwritten,
                                     static_cast<size_t>(shape_.head_stride - written),
                                     static_cast<size_t>(shape_.kv_heads), stream));
    }
  }
  for (const DeviceBuffer<bf16_bits>* buffer : {&scratch_keys_, &scratch_values_}) {
    launch_fill_columns(buffer->data(), 1, buffer->size(), buffer->size(), not_a_number, stream);
  }
}

int64_t e4m3_store_bytes(const ModelSpec& spec, const EngineLimits& limits,
                         const CacheShape& shape) {
  const int64_t exponents = shape.layers * 2 * shape.kv_heads;
  return 2 * (shape.elements() + exponents) + 2 * elements_of(scratch_shape(spec, limits, shape)) *
                                                  static_cast<int64_t>(sizeof(bf16_bits));
}

}  // namespace orthros::cuda
