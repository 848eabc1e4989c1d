// Compares a checkpoint's tensors with a spec's.
#include "reference/cli/tensor_listing.hpp"

#include "reference/model/weight_source.hpp"
#include "reference/spec/input_error.hpp"

namespace orthros::cli {

TensorListing list_tensors(const ModelSpec& spec, const TensorSource& files) {
  const CheckpointWeights weights(files);
  TensorListing listing;
  listing.file = files.file();
  std::set<std::string_view> used;
  for (const TensorInfo& tensor : tensor_table(spec)) {
    ++listing.expected;
    const TensorView* view = find_tensor(files, tensor.name);
    if (view == nullptr) {
      listing.missing.push_back(tensor.name);
      continue;
    }
    used.insert(view->name);
    try {
      weights.read(tensor, 0, {});
      ++listing.present;
      listing.dtypes.emplace(name_of(view->dtype));
    } catch (const InputError& error) {
      listing.unfit.emplace_back(error.what());
    }
  }
  for (const TensorView* tensor : files.tensors()) {
    listing.bytes += static_cast<int64_t>(tensor->bytes.size());
    if (!used.contains(tensor->name)) listing.unexpected.push_back(tensor->name);
  }
  return listing;
}

}  // namespace orthros::cli
