// TensorSource: the tensors of a checkpoint's folder, whichever way its files are laid out.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/weights/safetensors.hpp"

namespace orthros {

// Opens, in this order of preference,
//   model.safetensors.index.json  and the shards that it names (it is the checkpoint's own
//                                 statement of what belongs to it: stray files are ignored, and
//                                 so are tensors that it does not list),
//   model.safetensors,
//   the folder's only *.safetensors.
// A path to a .safetensors file opens that file. Only headers are read; tensors are paged in on
// use. Throws InputError naming the file for a shard that is absent (before any shard is read), an
// index entry whose tensor is not in its shard, a folder with no or no certain weights, and for
// whatever Safetensors and parse_shard_index refuse.
class TensorSource {
 public:
  explicit TensorSource(const std::filesystem::path& path);

  // Null when there is none of that name.
  const TensorView* find(std::string_view name) const;
  // Sorted by name.
  std::span<const TensorView* const> tensors() const { return tensors_; }
  // The file that says which tensors there are, for messages: the index, or the one file.
  const std::string& file() const { return file_; }

 private:
  void open_single(const std::filesystem::path& path);
  void open_sharded(const std::filesystem::path& index_path);

  std::string file_;
  std::vector<Safetensors> files_;
  std::vector<const TensorView*> tensors_;  // sorted by name
};

}  // namespace orthros
