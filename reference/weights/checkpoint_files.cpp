// Finds and opens a checkpoint's files.
#include "reference/weights/checkpoint_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <system_error>
#include <utility>

#include "reference/spec/input_error.hpp"
#include "reference/weights/mapped_file.hpp"
#include "reference/weights/quoted_text.hpp"
#include "reference/weights/shard_index.hpp"

namespace orthros {
namespace {

namespace fs = std::filesystem;

std::string_view name_at(const TensorView* tensor) {
  return tensor->name;
}

// The folder's one *.safetensors file.
fs::path only_weight_file(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    if (entries->path().extension() == ".safetensors") files.push_back(entries->path());
  }
  if (error) {
    throw InputError(folder.string(), "",
                     fmt::format("expected a checkpoint's folder, got: {}", error.message()));
  }
  if (files.size() != 1) {
    throw InputError(folder.string(), "",
                     fmt::format("expected model.safetensors, model.safetensors.index.json or one "
                                 "*.safetensors, got {} files of that kind",
                                 files.size()));
  }
  return files.front();
}

bool present(const fs::path& path) {
  std::error_code ignored;  // what cannot be looked at is reported when it is opened
  return fs::exists(path, ignored);
}

}  // namespace

TensorSource::TensorSource(const fs::path& path) {
  const fs::path index = path / "model.safetensors.index.json";
  const fs::path single = path / "model.safetensors";
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) {
    open_single(path);
  } else if (present(index)) {
    open_sharded(index);
  } else if (present(single)) {
    open_single(single);
  } else {
    open_single(only_weight_file(path));
  }
}

void TensorSource::open_single(const fs::path& path) {
  file_ = path.string();
  files_.emplace_back(path);
  for (const TensorView& tensor : files_.front().tensors()) tensors_.push_back(&tensor);
  std::ranges::sort(tensors_, {}, name_at);
}

void TensorSource::open_sharded(const fs::path& index_path) {
  file_ = index_path.string();
  const MappedFile index(index_path);
  const std::string_view text(reinterpret_cast<const char*>(index.bytes().data()),
                              index.bytes().size());
  const auto shard_of = parse_shard_index(text, file_);

  // Every shard is looked for before the first is opened.
  std::map<std::string_view, size_t> shards;
  for (const auto& [tensor, shard] : shard_of) shards.emplace(shard, 0);
  for (const auto& [shard, unused] : shards) {
    if (!present(index_path.parent_path() / shard)) {
      throw InputError(
          file_, "weight_map",
          fmt::format("expected every shard beside it, got none named {}", quoted_text(shard)));
    }
  }
  files_.reserve(shards.size());
  for (auto& [shard, position] : shards) {
    position = files_.size();
    files_.emplace_back(index_path.parent_path() / shard);
  }
  for (const auto& [tensor, shard] : shard_of) {
    const TensorView* view = files_[shards.at(shard)].find(tensor);
    if (view == nullptr) {
      throw InputError((index_path.parent_path() / shard).string(), quoted_text(tensor),
                       fmt::format("expected the tensor, which {} places here, got none",
                                   index_path.filename().string()));
    }
    tensors_.push_back(view);  // in order: shard_of is sorted by tensor
  }
}

const TensorView* TensorSource::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(tensors_, name, {}, name_at);
  return found == tensors_.end() || (*found)->name != name ? nullptr : *found;
}

}  // namespace orthros
