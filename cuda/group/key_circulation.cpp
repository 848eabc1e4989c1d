// Fetches, exchanges, collects, keeps.
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
        heads_(shape.kv_heads),
        width_(shape.width),
        first_(sequence * view.sequence_stride) {}

  // Those at `places` of every KV head, keys and values, for or from `peer`.
  void add(std::vector<Transfer>& transfers, int32_t peer, KeyRange places) const {
    for (const bool values : {false, true}) {
      for (int64_t head = 0; head < heads_; ++head) {
        transfers.push_back(run(peer, values, head, places));
      }
    }
  }

 private:
  Transfer run(int32_t peer, bool values, int64_t head, KeyRange places) const {
    auto* memory = view_.keys8 != nullptr
                       ? (values ? view_.values8 : view_.keys8)
                       : reinterpret_cast<uint8_t*>(values ? view_.values : view_.keys);
    const int64_t at = first_ + head * view_.head_stride + places.begin * width_;
    return {peer, memory + at * size_, (places.end - places.begin) * width_ * size_};
  }

  KvView view_;
  int64_t size_;
  int64_t heads_;
  int64_t width_;
  int64_t first_;
};

}  // namespace

void KeyCirculation::begin_round(KvStore& cache, int64_t sequence, std::vector<KeyRange> round,
                                 cudaStream_t stream) {
  sequence_ = sequence;
  round_ = std::move(round);
  fetch(cache, 0, stream);
}

void KeyCirculation::fetch(KvStore& cache, int64_t layer, cudaStream_t stream) {
  if (past() == 0) return;
  const KvView part = cache.layer(layer);
  const Runs mine(shape_, part, sequence_);
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;
  for (int32_t r = 0; r < static_cast<int32_t>(deal_.ranks); ++r) {
    if (r == deal_.rank) continue;
    const Runs theirs(shape_, cache.whole()->received(part, of(r), past()), 0);
    mine.add(sends, r, kept(deal_.rank));
    theirs.add(receives, r, kept(r));
  }
  free_.set(stream);
  free_.hold_back(beside_);
  exchange_.exchange(sends, receives, beside_);
  fetched_.set(beside_);
}

void KeyCirculation::share(KvStore& cache, int64_t layer, cudaStream_t stream) {
  const KvView part = cache.layer(layer);
  const KvView whole = cache.whole()->entries(part);
  const Runs together(shape_, whole, 0);
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;
  for (int32_t r = 0; r < static_cast<int32_t>(deal_.ranks); ++r) {
    if (r == deal_.rank) continue;
    together.add(sends, r, round_[static_cast<size_t>(deal_.rank)]);
    together.add(receives, r, round_[static_cast<size_t>(r)]);
  }
  if (past() > 0) fetched_.hold_back(stream);
  exchange_.exchange(sends, receives, stream);
  for (int64_t r = 0; r < deal_.ranks; ++r) {
    const bool own = r == deal_.rank;
    const KvView from = own ? part : cache.whole()->received(part, of(r), past());
    launch_collect_entries({shape_, whole, from, own ? sequence_ : 0, of(r)}, kept(r), stream);
  }
  launch_keep_entries({shape_, whole, part, sequence_, deal_},
                      {kept(deal_.rank).end, dealt_count(round_.back().end, deal_)}, stream);
  if (layer + 1 < cache.layers()) fetch(cache, layer + 1, stream);
}

}  // namespace orthros::cuda
