// Places caches in device memory and reads them back.
#include "cuda/engine/kv_store.hpp"

#include <algorithm>

#include "cuda/kernels/elementwise.hpp"
#include "cuda/kernels/weights.hpp"

namespace orthros::cuda {

CacheShape cache_shape(const ModelSpec& spec, const EngineLimits& limits) {
  const auto& mixer = std::get<SoftmaxAttention>(spec.layers[0].mixer);
  constexpr int64_t align = 64;
  const int64_t head_stride = (limits.context + align - 1) / align * align * mixer.head_width;
  return {static_cast<int64_t>(spec.layers.size()),
          limits.sequences,
          mixer.kv_heads,
          mixer.head_width,
          head_stride,
          std::max(limits.sequence_stride, mixer.kv_heads * head_stride)};
}

std::vector<bf16_bits> KvStore::entries(const DeviceBuffer<bf16_bits>& from, int64_t layer,
                                        int64_t sequence, int64_t length) const {
  std::vector<bf16_bits> result(static_cast<size_t>(length * shape_.kv_heads * shape_.width));
  for (int64_t h = 0; h < shape_.kv_heads; ++h) {
    const int64_t first = layer * shape_.layer_elements() + sequence * shape_.sequence_stride +
                          h * shape_.head_stride;
    const std::vector<bf16_bits> head = from.to_host(first, length * shape_.width);
    for (int64_t t = 0; t < length; ++t) {
      std::copy_n(head.begin() + t * shape_.width, shape_.width,
                  result.begin() + (t * shape_.kv_heads + h) * shape_.width);
    }
  }
  return result;
}

void KvStore::draw(cudaStream_t stream) {
  // Drawing takes a second for 16 GB, so what was drawn is copied behind itself until all is full.
  constexpr int64_t most_drawn = int64_t{1} << 25;
  const auto fill = [&](const DeviceBuffer<bf16_bits>& buffer, const char* name) {
    const int64_t drawn = std::min(most_drawn, buffer.size());
    launch_draw_weights(CounterRandom(1, name), 0.0, 1.0, {0, 1, drawn, drawn, false},
                        buffer.data(), stream);
    for (int64_t done = drawn; done < buffer.size();) {
      const int64_t copied = std::min(done, buffer.size() - done);
      ORTHROS_CUDA(cudaMemcpyAsync(buffer.data() + done, buffer.data(),
                                   static_cast<size_t>(copied) * sizeof(bf16_bits),
                                   cudaMemcpyDeviceToDevice, stream));
      done += copied;
    }
  };
  fill(keys_, "keys");
  fill(values_, "values");
}

void KvStore::poison(int64_t sequence, int64_t length, cudaStream_t stream) {
  const int64_t written = length * shape_.width;
  for (int64_t i = 0; i < shape_.layers; ++i) {
    const KvView view = layer(i);
    for (bf16_bits* data : {view.keys, view.values}) {
      launch_poison(data + sequence * shape_.sequence_stride + written, shape_.kv_heads,
                    shape_.head_stride - written, shape_.head_stride, stream);
    }
  }
}

}  // namespace orthros::cuda
