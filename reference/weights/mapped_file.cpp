// Maps a file with mmap.
#include "reference/weights/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "reference/spec/input_error.hpp"

namespace orthros {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, int error) {
  throw InputError(
      path.string(), "",
      fmt::format("expected a readable file, got: {}", std::generic_category().message(error)));
}

class Descriptor {
 public:
  // O_NONBLOCK: opening a named pipe must not wait for its writer; regular files ignore it.
  explicit Descriptor(const std::filesystem::path& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (fd_ < 0) refuse(path, errno);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { ::close(fd_); }
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const Descriptor file(path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) refuse(path, errno);
  if (!S_ISREG(status.st_mode)) {
    throw InputError(path.string(), "",
                     S_ISDIR(status.st_mode) ? "expected a file, got a directory"
                                             : "expected a regular file, got a special one");
  }
  if (status.st_size == 0) {
    throw InputError(path.string(), "", "expected a file with content, got an empty one");
  }
  const auto size = static_cast<size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) refuse(path, errno);
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  // munmap takes a mutable pointer, though nothing is written through it.
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace orthros
