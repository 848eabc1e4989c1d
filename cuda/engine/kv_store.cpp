// Places caches in device memory and reads them back.
#include "cuda/engine/kv_store.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "cuda/kernels/elementwise.hpp"
#include "cuda/kernels/kv_entries.hpp"
#include "cuda/kernels/weights.hpp"
#include "cuda/layout/dealt_keys.hpp"
#include "reference/hopper/e4m3.hpp"

namespace orthros::cuda {
namespace {

constexpr auto bf16_bytes = static_cast<int64_t>(sizeof(bf16_bits));

int64_t element_bytes(const EngineLimits& limits) {
  return limits.kv == KvFormat::e4m3 ? 1 : bf16_bytes;
}

// Bytes as the kernels that copy and fill take them.
bf16_bits* pairs(uint8_t* bytes) {
  return reinterpret_cast<bf16_bits*>(bytes);
}
const bf16_bits* pairs(const uint8_t* bytes) {
  return reinterpret_cast<const bf16_bits*>(bytes);
}

}  // namespace

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
  const int64_t size = element_bytes(limits);
  int64_t beside = 0;
  if (limits.deal.ranks > 1) beside += WholeLayer::bytes(spec, limits);
  if (limits.kv == KvFormat::e4m3) beside += E4m3Widening::bytes(spec, limits, shape);
  if (limits.held == 0) return 2 * shape.elements() * size + beside;
  constexpr int64_t page = 2 << 20;  // at both ends of a head's run, and at each layer's start
  const int64_t run = (limits.held + CacheShape::slack_tokens) * shape.width * size + 2 * page;
  return 2 * shape.layers * (shape.sequences * shape.kv_heads * run + page) + beside;
}

KvStore::KvStore(const ModelSpec& spec, const EngineLimits& limits, EngineFault fault)
    : shape_(cache_shape(spec, limits)),
      size_(element_bytes(limits)),
      deal_(limits.deal),
      keys_(shape_.elements() * size_, limits.held > 0),
      values_(shape_.elements() * size_, limits.held > 0),
      held_(static_cast<size_t>(limits.sequences)) {
  if (limits.kv == KvFormat::e4m3) e4m3_.emplace(spec, limits, shape_, fault);
  if (deal_.ranks > 1) whole_.emplace(spec, limits);
  if (limits.held == 0) {
    for (auto& ranges : held_) ranges.push_back({0, context()});
    return;
  }
  // Tensor copies look up a tensor's first address even for a box that lies outside of it. There is
  // no stream yet; an engine waits for the device before it has one.
  for (int64_t i = 0; i < shape_.layers; ++i) {
    keys_.hold(byte_of(i, 0, 0, 0), 1, nullptr);
    values_.hold(byte_of(i, 0, 0, 0), 1, nullptr);
  }
}

KvView KvStore::layer(int64_t layer) const {
  KvView view{nullptr, nullptr, shape_.sequence_stride, shape_.head_stride};
  uint8_t* keys = keys_.data() + byte_of(layer, 0, 0, 0);
  uint8_t* values = values_.data() + byte_of(layer, 0, 0, 0);
  if (e4m3_) {
    view.keys8 = keys;
    view.values8 = values;
    view.exponents = e4m3_->exponents(layer);
  } else {
    view.keys = pairs(keys);
    view.values = pairs(values);
  }
  view.deal = deal_;
  return view;
}

KvView KvStore::seen(int64_t layer) const {
  KvView view = this->layer(layer);
  if (e4m3_) view.exponents = e4m3_->seen_exponents(layer);
  return view;
}

std::vector<bf16_bits> KvStore::entries(bool values, int64_t layer, int64_t sequence,
                                        KeyRange range) const {
  const CacheMemory& from = values ? values_ : keys_;
  const int64_t width = shape_.width;
  const int64_t count = range.end - range.begin;
  std::vector<bf16_bits> result(static_cast<size_t>(count * shape_.kv_heads * width));
  std::vector<uint8_t> head(static_cast<size_t>(run_bytes(range)));
  for (int64_t h = 0; h < shape_.kv_heads; ++h) {
    ORTHROS_CUDA(cudaMemcpy(head.data(), from.data() + byte_of(layer, sequence, h, range.begin),
                            head.size(), cudaMemcpyDeviceToHost));
    for (int64_t t = 0; t < count; ++t) {
      bf16_bits* to = result.data() + (t * shape_.kv_heads + h) * width;
      const uint8_t* entry = head.data() + t * width * size_;
      if (!e4m3_) {
        std::memcpy(to, entry, static_cast<size_t>(width * size_));
        continue;
      }
      const int exponent = e4m3_->exponent(layer, values, h);
      std::transform(entry, entry + width, to,
                     [&](uint8_t byte) { return hopper::widen_e4m3(byte, exponent); });
    }
  }
  return result;
}

void KvStore::hold(int64_t sequence, KeyRange range, cudaStream_t stream) {
  const KeyRange touched{range.begin, range.end + CacheShape::slack_tokens};
  for (int64_t i = 0; i < shape_.layers; ++i) {
    for (int64_t h = 0; h < shape_.kv_heads; ++h) {
      const int64_t first = byte_of(i, sequence, h, range.begin);
      const int64_t bytes = std::min(run_bytes(touched), keys_.size() - first);
      keys_.hold(first, bytes, stream);
      values_.hold(first, bytes, stream);
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
  const int64_t stride = shape_.head_stride * size_ / bf16_bytes;
  for (int64_t i = 0; i < shape_.layers; ++i) {
    for (const CacheMemory* memory : {&keys_, &values_}) {
      launch_fill_columns(pairs(memory->data() + byte_of(i, sequence, 0, range.begin)),
                          shape_.kv_heads, run_bytes(range) / bf16_bytes, stride, value, stream);
    }
  }
}

void KvStore::clear(int64_t sequence, KeyRange range, cudaStream_t stream) {
  fill(sequence, range, 0, stream);
}

int64_t KvStore::packed_bytes(KeyRange range) const {
  return 2 * shape_.kv_heads * run_bytes(range);
}

void KvStore::pack(int64_t layer, int64_t sequence, KeyRange range, uint8_t* packed,
                   cudaStream_t stream) const {
  const int64_t run = run_bytes(range) / bf16_bytes;
  const int64_t stride = shape_.head_stride * size_ / bf16_bytes;
  for (const CacheMemory* memory : {&keys_, &values_}) {
    launch_copy_columns(pairs(memory->data() + byte_of(layer, sequence, 0, range.begin)), stride,
                        pairs(packed), run, shape_.kv_heads, run, stream);
    packed += shape_.kv_heads * run_bytes(range);
  }
}

void KvStore::unpack(int64_t layer, int64_t sequence, KeyRange range, const uint8_t* packed,
                     cudaStream_t stream) {
  const int64_t run = run_bytes(range) / bf16_bytes;
  const int64_t stride = shape_.head_stride * size_ / bf16_bytes;
  for (const CacheMemory* memory : {&keys_, &values_}) {
    launch_copy_columns(pairs(packed), run,
                        pairs(memory->data() + byte_of(layer, sequence, 0, range.begin)), stride,
                        shape_.kv_heads, run, stream);
    packed += shape_.kv_heads * run_bytes(range);
  }
}

void KvStore::draw(cudaStream_t stream) {
  const auto draw = [&](const CacheMemory& memory, const char* name, int64_t first, int64_t bytes) {
    const CounterRandom random(1, name);
    if (e4m3_) {
      launch_draw_entries(random, bytes, memory.data() + first, stream);
    } else {
      const int64_t count = bytes / bf16_bytes;
      launch_draw_weights(random, 0.0, 1.0, {0, 1, count, count, false},
                          pairs(memory.data() + first), stream);
    }
  };
  if (keys_.taken() >= keys_.size()) {
    // Drawing takes a second for 16 GB, so what was drawn is copied behind itself until all is
    // full.
    constexpr int64_t most_drawn = int64_t{1} << 26;
    const auto draw_all = [&](const CacheMemory& memory, const char* name) {
      int64_t done = std::min(most_drawn, memory.size());
      draw(memory, name, 0, done);
      while (done < memory.size()) {
        const int64_t copied = std::min(done, memory.size() - done);
        ORTHROS_CUDA(cudaMemcpyAsync(memory.data() + done, memory.data(),
                                     static_cast<size_t>(copied), cudaMemcpyDeviceToDevice,
                                     stream));
        done += copied;
      }
    };
    draw_all(keys_, "keys");
    draw_all(values_, "values");
    return;
  }
  for (size_t s = 0; s < held_.size(); ++s) {
    for (const KeyRange& range : held_[s]) {
      for (int64_t i = 0; i < shape_.layers * shape_.kv_heads; ++i) {
        const int64_t first =
            byte_of(i / shape_.kv_heads, static_cast<int64_t>(s), i % shape_.kv_heads, range.begin);
        draw(keys_, "keys", first, run_bytes(range));
        draw(values_, "values", first, run_bytes(range));
      }
    }
  }
}

void KvStore::poison(int64_t sequence, int64_t length, cudaStream_t stream) {
  constexpr bf16_bits unwritten = 0x7f7f;  // twice NaN of the standard's e4m3
  if (whole_) whole_->poison(stream);
  if (e4m3_) e4m3_->poison(stream);
  const int64_t first = dealt_count(length, deal_);
  for (const KeyRange& range : held_[static_cast<size_t>(sequence)]) {
    fill(sequence, {std::max(range.begin, first), range.end}, e4m3_ ? unwritten : not_a_number,
         stream);
  }
}

}  // namespace orthros::cuda
