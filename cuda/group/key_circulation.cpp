// Exchanges, collects, keeps.
#include "cuda/group/key_circulation.hpp"

#include "cuda/engine/kv_store.hpp"
#include "cuda/kernels/kv_entries.hpp"

namespace orthros::cuda {
namespace {

// Runs of a view's entries, one for each of keys and values and each KV head.
class Runs {
 public:
  Runs(const AttentionShape& shape, const KvView& view, int64_t sequence)
      : view_(view),
        size_(view.keys8 != nullptr ? 1 : static_cast<int64_t>(sizeof(bf16_bits))),
        width_(shape.width),
        first_(sequence * view.sequence_stride) {}

  Transfer run(int32_t peer, bool values, int64_t head, KeyRange places) const {
    auto* memory = view_.keys8 != nullptr
                       ? (values ? view_.values8 : view_.keys8)
                       : reinterpret_cast<uint8_t*>(values ? view_.values : view_.keys);
    const int64_t at = first_ + head * view_.head_stride + places.begin * width_;
    return {peer, memory + at * size_, (places.end - places.begin) * width_ * size_};
  }

 private:
  KvView view_;
  int64_t size_;
  int64_t width_;
  int64_t first_;
};

}  // namespace

void KeyCirculation::begin_round(int64_t sequence, std::vector<KeyRange> round) {
  sequence_ = sequence;
  round_ = std::move(round);
}

void KeyCirculation::share(KvStore& cache, int64_t layer, cudaStream_t stream) {
  const KvView part = cache.layer(layer);
  const KvView whole = cache.whole()->entries(part);
  const int64_t past = round_.front().begin;
  const auto kept = [&](int64_t rank, int64_t tokens) { return dealt_count(tokens, of(rank)); };
  const Runs mine(shape_, part, sequence_);
  const Runs together(shape_, whole, 0);
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;
  for (int32_t r = 0; r < static_cast<int32_t>(deal_.ranks); ++r) {
    if (r == deal_.rank) continue;
    const Runs theirs(shape_, cache.whole()->received(part, of(r), past), 0);
    for (const bool values : {false, true}) {
      for (int64_t head = 0; head < shape_.kv_heads; ++head) {
        sends.push_back(mine.run(r, values, head, {0, kept(deal_.rank, past)}));
        sends.push_back(together.run(r, values, head, round_[static_cast<size_t>(deal_.rank)]));
        receives.push_back(theirs.run(r, values, head, {0, kept(r, past)}));
        receives.push_back(together.run(r, values, head, round_[static_cast<size_t>(r)]));
      }
    }
  }
  exchange_.exchange(sends, receives, stream);
  for (int64_t r = 0; r < deal_.ranks; ++r) {
    const bool own = r == deal_.rank;
    const KvView from = own ? part : cache.whole()->received(part, of(r), past);
    launch_collect_entries({shape_, whole, from, own ? sequence_ : 0, of(r)}, {0, kept(r, past)},
                           stream);
  }
  launch_keep_entries({shape_, whole, part, sequence_, deal_},
                      {kept(deal_.rank, past), kept(deal_.rank, round_.back().end)}, stream);
}

}  // namespace orthros::cuda
