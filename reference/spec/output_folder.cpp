// Makes a folder beside the target and renames it.
#include "reference/spec/output_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <system_error>

#include "reference/spec/input_error.hpp"

namespace orthros {

namespace fs = std::filesystem;

OutputFolder::OutputFolder(const fs::path& target) {
  std::error_code error;
  target_ = fs::absolute(target, error).lexically_normal();
  if (!target_.has_filename()) target_ = target_.parent_path();  // a slash at the end
  if (target.empty() || !target_.has_filename()) {
    throw InputError(target.string(), "", "expected a new folder's name");
  }
  const fs::file_status status = fs::symlink_status(target_, error);
  const bool empty_folder = fs::is_directory(status) &&
                            fs::directory_iterator(target_, error) == fs::directory_iterator();
  if (fs::exists(status) && !empty_folder) {
    throw InputError(target.string(), "",
                     "expected a new or an empty folder, got one that holds something or a file");
  }
  for (int attempt = 0; partial_.empty(); ++attempt) {
    fs::path candidate = target_;
    candidate.replace_filename(
        fmt::format(".{}.{}-{}.partial", target_.filename().string(), ::getpid(), attempt));
    if (fs::create_directory(candidate, error)) {
      partial_ = candidate;
    } else if (error) {
      throw InputError(target.string(), "",
                       fmt::format("expected to make this folder, got: {}", error.message()));
    }
  }
}

OutputFolder::~OutputFolder() {
  if (partial_.empty()) return;
  std::error_code ignored;  // nothing better can be done than leave it
  fs::remove_all(partial_, ignored);
}

void OutputFolder::commit() {
  std::error_code error;
  fs::rename(partial_, target_, error);
  if (error) {
    throw InputError(target_.string(), "",
                     fmt::format("expected to make this folder, got: {}", error.message()));
  }
  partial_.clear();
}

}  // namespace orthros
