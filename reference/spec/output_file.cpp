// Writes beside the target and renames.
#include "reference/spec/output_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "reference/spec/input_error.hpp"

namespace orthros {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& target, int error) {
  throw InputError(
      target.string(), "",
      fmt::format("expected to write it whole, got: {}", std::generic_category().message(error)));
}

}  // namespace

OutputFile::OutputFile(fs::path target) : target_(std::move(target)) {
  std::error_code error;
  const fs::file_status status = fs::status(target_, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw InputError(target_.string(), "",
                     "expected a file or a free name, got a directory or a special file");
  }
  // "x" refuses a name in use, so two writers never share a partial file.
  for (int attempt = 0; stream_ == nullptr; ++attempt) {
    fs::path candidate = target_;
    candidate.replace_filename(
        fmt::format(".{}.{}-{}.partial", target_.filename().string(), ::getpid(), attempt));
    stream_.reset(std::fopen(candidate.c_str(), "wbx"));
    if (stream_ != nullptr) {
      partial_ = std::move(candidate);
    } else if (errno != EEXIST) {
      refuse(target_, errno);
    }
  }
}

OutputFile::~OutputFile() {
  if (partial_.empty()) return;
  stream_.reset();
  std::error_code ignored;  // nothing better can be done than leave it
  fs::remove(partial_, ignored);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stream_.get()) != bytes.size()) {
    refuse(target_, errno);
  }
}

void OutputFile::commit() {
  if (std::fclose(stream_.release()) != 0) refuse(target_, errno);
  if (std::rename(partial_.c_str(), target_.c_str()) != 0) refuse(target_, errno);
  partial_.clear();
}

void write_text_file(const fs::path& target, std::string_view text) {
  OutputFile file(target);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace orthros
