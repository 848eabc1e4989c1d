// Safetensors: a file's tensors by name, as views into its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/weights/mapped_file.hpp"
#include "reference/weights/tensor_view.hpp"

namespace orthros {

// The format's bound on a header's length, in bytes.
inline constexpr uint64_t max_safetensors_header = 100'000'000;

// The layout: 8 bytes of header length (little-endian), the JSON header, the tensors' bytes. Only
// the header is touched here; tensors are paged in when they are read. Throws InputError unless
// the header lies within the file and keeps to the bound, the header is sound
// (safetensors_header.hpp), names are unique, each tensor's byte range is what its dtype and shape
// need, and the ranges, in order, cover the data without a hole or an overlap. Moving the object
// keeps its views valid.
class Safetensors {
 public:
  // Maps the file.
  explicit Safetensors(const std::filesystem::path& path);
  // Reads from memory that outlives the object; `file` is its name in messages.
  Safetensors(std::span<const std::byte> bytes, std::string_view file);

  // In the header's order.
  std::span<const TensorView> tensors() const { return tensors_; }
  // Null when there is none of that name.
  const TensorView* find(std::string_view name) const;
  const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }

 private:
  void read(std::span<const std::byte> bytes);
  void index_names();

  std::optional<MappedFile> mapping_;
  std::unique_ptr<const std::string> file_;  // at a fixed address: the views point to it
  std::vector<TensorView> tensors_;
  std::vector<size_t> by_name_;  // indices of tensors_, sorted by name
  std::map<std::string, std::string, std::less<>> metadata_;
};

}  // namespace orthros
