// OutputFile: a file that appears whole or not at all.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace orthros {

// Writes go to a new file of another name in the target's folder; commit() renames it to the
// target, replacing what stood there. Without commit() the destructor removes it and the target is
// as it was. Throws InputError naming the target when it cannot be written or is something other
// than a regular file. A crash of the machine is not guarded against (no fsync).
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path target);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  struct Close {
    void operator()(std::FILE* stream) const { std::fclose(stream); }
  };

  std::filesystem::path target_;
  std::filesystem::path partial_;  // empty when there is nothing to remove
  std::unique_ptr<std::FILE, Close> stream_;
};

// A whole file of this text. Throws InputError naming the target.
void write_text_file(const std::filesystem::path& target, std::string_view text);

}  // namespace orthros
