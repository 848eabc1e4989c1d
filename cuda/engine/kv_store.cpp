// Places caches in device memory and reads them back.
#include "cuda/engine/kv_store.hpp"

#include <algorithm>
#include <vector>

#include "cuda/kernels/elementwise.hpp"
#include "cuda/kernels/weights.hpp"
#include "cuda/layout/dealt_keys.hpp"

namespace orthros::cuda {

CacheShape cache_shape(const ModelSpec& spec, const EngineLimits& limits) {
  const auto& mixer = std::get<SoftmaxAttention>(spec.layers[0].mixer);
  constexpr int64_t align = 64;
  const int64_t places =
      limits.deal.ranks > 1 ? most_dealt(limits.context, limits.deal.ranks) : limits.context;
  const int64_t head_stride = (places + align - 1) / align * align * mixer.head_width;
  return {static_cast<int64_t>(spec.layers.size()),
          limits.sequences,
          mixer.kv_heads,
          mixer.head_width,
          head_stride,
          std::max(limits.sequence_stride, mixer.kv_heads * head_stride)};
}

int64_t cache_bytes(const ModelSpec& spec, const EngineLimits& limits) {
  const CacheShape shape = cache_shape(spec, limits);
  const int64_t whole = limits.deal.ranks > 1 ? WholeLayer::bytes(spec, limits) : 0;
  if (limits.kv == KvFormat::e4m3) return e4m3_store_bytes(spec, limits, shape) + whole;
  constexpr auto size = static_cast<int64_t>(sizeof(bf16_bits));
  if (limits.held == 0) return 2 * shape.elements() * size + whole;
  constexpr int64_t page = 2 << 20;  // at both ends of a head's run
  const int64_t run = (limits.held + CacheShape::slack_tokens) * shape.width * size + 2 * page;
  return 2 * shape.layers *
         (shape.sequences * shape.kv_heads * run + page);  // and each layer's first
}

KvStore::KvStore(const ModelSpec& spec, const EngineLimits& limits, EngineFault fault)
    : shape_(cache_shape(spec, limits)),
      deal_(limits.deal),
      held_(static_cast<size_t>(limits.sequences)) {
  if (deal_.ranks > 1) whole_.emplace(spec, limits);
  if (limits.kv == KvFormat::e4m3) {
    e4m3_.emplace(spec, limits, shape_, fault);
    return;
  }
  keys_ = CacheMemory(shape_.elements(), limits.held > 0);
  values_ = CacheMemory(shape_.elements(), limits.held > 0);
  if (limits.held > 0) {
    // Tensor copies look up a tensor's first address even for a box that lies outside of it.
    for (int64_t i = 0; i < shape_.layers; ++i) {
      keys_.hold(first_entry(i, 0), 1, nullptr);
      values_.hold(first_entry(i, 0), 1, nullptr);
    }
    return;
  }
  for (auto& ranges : held_) ranges.push_back({0, context()});
}

KvView KvStore::layer(int64_t layer) const {
  const int64_t first = layer * shape_.layer_elements();
  KvView view{keys_.data() + first, values_.data() + first, shape_.sequence_stride,
              shape_.head_stride};
  if (e4m3_) view = e4m3_->layer(layer);
  view.deal = deal_;
  return view;
}

KvView KvStore::seen(int64_t layer) const {
  if (!e4m3_) return this->layer(layer);
  KvView view = e4m3_->seen(layer);
  view.deal = deal_;
  return view;
}

std::vector<bf16_bits> KvStore::entries(const CacheMemory& from, int64_t layer, int64_t sequence,
                                        KeyRange range) const {
  const int64_t count = range.end - range.begin;
  const int64_t head_values = count * shape_.width;
  std::vector<bf16_bits> result(static_cast<size_t>(count * shape_.kv_heads * shape_.width));
  std::vector<bf16_bits> head(static_cast<size_t>(head_values));
  for (int64_t h = 0; h < shape_.kv_heads; ++h) {
    const int64_t first =
        first_entry(layer, sequence) + h * shape_.head_stride + range.begin * shape_.width;
    ORTHROS_CUDA(cudaMemcpy(head.data(), from.data() + first, head.size() * sizeof(bf16_bits),
                            cudaMemcpyDeviceToHost));
    for (int64_t t = 0; t < count; ++t) {
      std::copy_n(head.begin() + t * shape_.width, shape_.width,
                  result.begin() + (t * shape_.kv_heads + h) * shape_.width);
    }
  }
  return result;
}

void KvStore::hold(int64_t sequence, KeyRange range, cudaStream_t stream) {
  const int64_t count = range.end - range.begin + CacheShape::slack_tokens;
  for (int64_t i = 0; i < shape_.layers; ++i) {
    for (int64_t h = 0; h < shape_.kv_heads; ++h) {
      const int64_t first =
          first_entry(i, sequence) + h * shape_.head_stride + range.begin * shape_.width;
      const int64_t elements = std::min(count * shape_.width, shape_.elements() - first);
      keys_.hold(first, elements, stream);
      values_.hold(first, elements, stream);
    }
  }
  KeyRange joined{range.begin, std::min(range.end, context())};
  auto& held = held_[static_cast<size_t>(sequence)];
  std::erase_if(held, [&](const KeyRange& known) {
    if (known.end < joined.begin || joined.end < known.begin) return false;
    joined = {std::min(joined.begin, known.begin), std::max(joined.end, known.end)};
    return true;
  });
  held.push_back(joined);
}

void KvStore::fill(int64_t sequence, KeyRange range, bf16_bits value, cudaStream_t stream) {
  if (range.begin >= range.end) return;
  for (int64_t i = 0; i < shape_.layers; ++i) {
    for (const CacheMemory* memory : {&keys_, &values_}) {
      launch_fill_columns(memory->data() + first_entry(i, sequence) + range.begin * shape_.width,
                          shape_.kv_heads, (range.end - range.begin) * shape_.width,
                          shape_.head_stride, value, stream);
    }
  }
}

void KvStore::clear(int64_t sequence, KeyRange range, cudaStream_t stream) {
  fill(sequence, range, 0, stream);
}

int64_t KvStore::packed_values(KeyRange range) const {
  return 2 * shape_.kv_heads * (range.end - range.begin) * shape_.width;
}

void KvStore::pack(int64_t layer, int64_t sequence, KeyRange range, bf16_bits* packed,
                   cudaStream_t stream) const {
  const int64_t run = (range.end - range.begin) * shape_.width;
  const int64_t first = first_entry(layer, sequence) + range.begin * shape_.width;
  for (const CacheMemory* memory : {&keys_, &values_}) {
    launch_copy_columns(memory->data() + first, shape_.head_stride, packed, run, shape_.kv_heads,
                        run, stream);
    packed += run * shape_.kv_heads;
  }
}

void KvStore::unpack(int64_t layer, int64_t sequence, KeyRange range, const bf16_bits* packed,
                     cudaStream_t stream) {
  const int64_t run = (range.end - range.begin) * shape_.width;
  const int64_t first = first_entry(layer, sequence) + range.begin * shape_.width;
  for (const CacheMemory* memory : {&keys_, &values_}) {
    launch_copy_columns(packed, run, memory->data() + first, shape_.head_stride, shape_.kv_heads,
                        run, stream);
    packed += run * shape_.kv_heads;
  }
}

void KvStore::draw(cudaStream_t stream) {
  if (e4m3_) return e4m3_->draw(stream);
  const auto fill = [&](const CacheMemory& memory, const char* name, int64_t first, int64_t count) {
    launch_draw_weights(CounterRandom(1, name), 0.0, 1.0, {0, 1, count, count, false},
                        memory.data() + first, stream);
  };
  if (keys_.bytes() >= 2 * keys_.size()) {
    // Drawing takes a second for 16 GB, so what was drawn is copied behind itself until all is
    // full.
    constexpr int64_t most_drawn = int64_t{1} << 25;
    const auto fill_all = [&](const CacheMemory& memory, const char* name) {
      int64_t done = std::min(most_drawn, memory.size());
      fill(memory, name, 0, done);
      while (done < memory.size()) {
        const int64_t copied = std::min(done, memory.size() - done);
        ORTHROS_CUDA(cudaMemcpyAsync(memory.data() + done, memory.data(),
                                     static_cast<size_t>(copied) * sizeof(bf16_bits),
                                     cudaMemcpyDeviceToDevice, stream));
        done += copied;
      }
    };
    fill_all(keys_, "keys");
    fill_all(values_, "values");
    return;
  }
  for (size_t s = 0; s < held_.size(); ++s) {
    for (const KeyRange& range : held_[s]) {
      for (int64_t i = 0; i < shape_.layers * shape_.kv_heads; ++i) {
        const int64_t first = first_entry(i / shape_.kv_heads, static_cast<int64_t>(s)) +
                              i % shape_.kv_heads * shape_.head_stride + range.begin * shape_.width;
        fill(keys_, "keys", first, (range.end - range.begin) * shape_.width);
        fill(values_, "values", first, (range.end - range.begin) * shape_.width);
      }
    }
  }
}

void KvStore::poison(int64_t sequence, int64_t length, cudaStream_t stream) {
  if (whole_) whole_->poison(stream);
  length = dealt_count(length, deal_);
  if (e4m3_) return e4m3_->poison(sequence, length, stream);
  for (const KeyRange& range : held_[static_cast<size_t>(sequence)]) {
    fill(sequence, {std::max(range.begin, length), range.end}, not_a_number, stream);
  }
}

}  // namespace orthros::cuda
