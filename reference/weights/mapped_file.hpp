// MappedFile: a file's bytes, mapped read-only and paged in on use.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace orthros {

// Owns the mapping; bytes() stay where they are when the object moves. Opening reads no data, so a
// file of any size opens in microseconds. Throws InputError when the path is absent, cannot be
// read, is not a regular file or is empty. The file must not shrink while it is mapped.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace orthros
