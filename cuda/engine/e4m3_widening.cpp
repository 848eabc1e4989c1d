// Sends scales to the device and sizes the scratch cache.
#include "cuda/engine/e4m3_widening.hpp"

#include <algorithm>

#include "cuda/kernels/attention.hpp"
#include "cuda/kernels/elementwise.hpp"
#include "cuda/layout/near_keys.hpp"
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

E4m3Widening::E4m3Widening(const ModelSpec& spec, const EngineLimits& limits,
                           const CacheShape& cache, EngineFault fault)
    : scratch_shape_(scratch_shape(spec, limits, cache)),
      scales_(scales_of(spec, limits)),
      exponents_(std::span<const int8_t>(flat(scales_, false))),
      seen_exponents_(
          std::span<const int8_t>(flat(scales_, fault == EngineFault::neighbour_scale))),
      scratch_keys_(elements_of(scratch_shape_)),
      scratch_values_(elements_of(scratch_shape_)) {}

void E4m3Widening::poison(cudaStream_t stream) {
  for (const DeviceBuffer<bf16_bits>* buffer : {&scratch_keys_, &scratch_values_}) {
    launch_fill_columns(buffer->data(), 1, buffer->size(), buffer->size(), not_a_number, stream);
  }
}

int64_t E4m3Widening::bytes(const ModelSpec& spec, const EngineLimits& limits,
                            const CacheShape& cache) {
  constexpr auto size = static_cast<int64_t>(sizeof(bf16_bits));
  return 2 * (2 * cache.layers * cache.kv_heads) +
         2 * elements_of(scratch_shape(spec, limits, cache)) * size;
}

}  // namespace orthros::cuda
