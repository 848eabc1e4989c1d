// Tells.
#include "cuda/group/told.hpp"

#include "cuda/group/world.hpp"

namespace orthros::cuda {
namespace {

template <class T>
void tell(std::vector<T>& values, int32_t from) {
  broadcast(values.data(), static_cast<int64_t>(values.size() * sizeof(T)), from);
}

}  // namespace

void tell_predictions(std::span<Prediction> predictions, std::span<const int32_t> makers,
                      int64_t vocab) {
  if (world().size == 1) return;
  for (size_t i = 0; i < predictions.size(); ++i) {
    Prediction& each = predictions[i];
    broadcast(&each.token, sizeof each.token, makers[i]);
    each.logits.resize(static_cast<size_t>(vocab));
    tell(each.logits, makers[i]);
  }
}

void tell_ids(std::span<int64_t> ids, std::span<const int32_t> makers) {
  if (world().size == 1) return;
  for (size_t i = 0; i < makers.size(); ++i) {
    std::vector<int64_t> column;
    for (size_t at = i; at < ids.size(); at += makers.size()) column.push_back(ids[at]);
    tell(column, makers[i]);
    for (size_t at = i; at < ids.size(); at += makers.size()) ids[at] = column[at / makers.size()];
  }
}

}  // namespace orthros::cuda
