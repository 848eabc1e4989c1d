// OutputFolder: a folder that appears whole or not at all.
#pragma once

#include <filesystem>

namespace orthros {

// Files are written into path(), a new folder of another name beside the target; commit() renames
// it to the target. Without commit() the destructor removes it with all that it holds. Throws
// InputError naming the target where it exists and is anything but an empty folder, where the
// folder that shall hold it is absent, or where it cannot be written.
class OutputFolder {
 public:
  explicit OutputFolder(const std::filesystem::path& target);
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;
  ~OutputFolder();

  const std::filesystem::path& path() const { return partial_; }
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path partial_;  // empty once committed
};

}  // namespace orthros
